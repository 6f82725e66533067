"""headwise: watch attention heads learn."""
