"""A load judged: what was promised, what arrived, and how well the generator kept its own schedule."""
