"""What the tools of a toolbox are about."""
