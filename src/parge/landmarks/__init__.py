"""The backbone: landmarks embedded in closed form, the extension to a part's vertices, and training around them."""
