"""The controller: it watches the service, has plans made, and makes them true."""
