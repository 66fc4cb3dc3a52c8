"""What people install, made by `make packages`: wheel, source, recorder without Python, image."""
