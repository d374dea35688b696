"""``inference.proto``, and the modules that `serve_app.grpc.generate` makes of it."""
