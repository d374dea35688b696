"""How long plans take to solve for, and how close to the best they are proven to be."""
