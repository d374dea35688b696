"""What is made of the cases: goals, tables and a picture."""
