"""What code of the user's raised, which need not be an exception like others."""


def text_of(error: BaseException) -> str:
    """Its message; nothing where asking for that raises as well."""
    try:
        return str(error)
    except Exception:
        return ""
