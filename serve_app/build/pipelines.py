"""From the config of a pipeline to how its endpoint is served."""



CSV = ".csv"
"""How the name of a file of accuracies ends; other names are of the catalogue's."""
