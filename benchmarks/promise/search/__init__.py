"""The search for the highest load."""
