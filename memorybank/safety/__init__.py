"""What may not pass: markup that a line must not forge, secrets, instructions to a model. No Django."""
