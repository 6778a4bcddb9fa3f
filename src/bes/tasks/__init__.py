"""What is predicted, how it is scored, and the guard of the test part."""
