"""One model as an ONNX file and as a class of the user's around it."""
