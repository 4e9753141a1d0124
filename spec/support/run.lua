-- busted under the interpreter that runs this file, which `busted --lua=...` only does by a shell in between.
require "busted.runner" { standalone = false }
