std = "lua54"
max_line_length = 120
cache = false
files["spec"] = { std = "lua54+busted" }
exclude_files = { "docs/meta" } -- made by scripts/docs
