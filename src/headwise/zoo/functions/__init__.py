"""What a model computes, where the law of its tokens is known by construction: truth and score of the function view."""
