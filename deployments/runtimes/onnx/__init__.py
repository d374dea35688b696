"""Runtimes on ONNX Runtime: ONNX files, and texts with a tokenizer before them."""
