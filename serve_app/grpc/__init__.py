"""The Open Inference Protocol v2 over gRPC, beside the HTTP edge of the same router."""
