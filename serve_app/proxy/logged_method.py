"""The method of a request as HAProxy logs it for Serve, which makes it a label of metrics.

Clients write what they like there, before anybody asks who they are, and every new label is a time series for good.
"""

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
OTHER = "other"

SERVES = "%HM"
"""What Serve logs: whatever the client wrote."""

LOGGED = f"%[var(txn.accord_method,{OTHER})]"
"""In its place; what is no request has none."""

RULE = f"http-request set-var(txn.accord_method) method if {{ method -m str {' '.join(METHODS)} }}"
