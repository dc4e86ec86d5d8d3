"""What tests of several folders build their cases from."""
