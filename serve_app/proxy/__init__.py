"""HAProxy in front of the routers: the configuration that Serve writes, changed, and the process, kept alive."""
