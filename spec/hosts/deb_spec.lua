-- The Debian package, in a clean Debian 12: installed, used, removed.
local hosts = require "spec.hosts.support"
local support = require "spec.support"

if not hosts.wanted then
  return
end

-- A minimal Debian, made once with debootstrap and kept in build/; copied for each use.
local CLEAN_ROOT = [==[
set -eu
base=$PWD/build/clean-root root=$1
mirror=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null |
  sed -n -E 's/^URIs:[[:space:]]*([^ ]+).*/\1/p; s/^deb[[:space:]]+(\[[^]]*\][[:space:]]+)?([^ ]+).*/\2/p' | head -n 1)
if [ ! -e "$base.done" ]; then
  rm -rf "$base"
  debootstrap --variant=minbase bookworm "$base" "${mirror:-http://deb.debian.org/debian}"
  touch "$base.done"
fi
cp -a "$base" "$root"
rm -f "$root/etc/apt/sources.list"
mkdir -p "$root/etc/apt/sources.list.d"
for f in /etc/apt/sources.list /etc/apt/sources.list.d/*; do
  [ ! -f "$f" ] || cp "$f" "$root/etc/apt/${f#/etc/apt/}"
done
cp -r /etc/apt/apt.conf.d/. "$root/etc/apt/apt.conf.d/"
cp /etc/resolv.conf /etc/hosts "$root/etc/"
for m in proc dev; do mount --bind /$m "$root/$m"; done
]==]

describe("the Debian package", function()
  local root

  setup(function()
    local result = support.run({ "scripts/package" }, { timeout = 900 })
    assert.equal(0, result.code, result.stdout .. result.stderr)
    root = support.temporary_directory() .. "/root"
    result = support.run({ "bash", "-c", CLEAN_ROOT, "clean-root", root }, { timeout = 900 })
    assert.equal(0, result.code, result.stdout .. result.stderr)
    assert(os.execute(("cp build/luhip_*.deb %s/luhip.deb && cp -r examples %s/examples"):format(root, root)))
  end)

  teardown(function()
    if root then
      os.execute(("umount -l %s/proc %s/dev 2>/dev/null"):format(root, root))
    end
  end)

  local function there(command)
    return support.run(
      { "env", "-i", "HOME=/root", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "chroot", root, "/bin/sh", "-c", command },
      { timeout = 900 }
    )
  end

  it("brings the command, the module and the library, and goes without a trace", function()
    local result = there "apt-get -qq update && apt-get -qq install -y --no-install-recommends ./luhip.deb"
    assert.equal(0, result.code, result.stdout .. result.stderr)
    result = there "luhip examples/saxpy.lua"
    assert.equal(0, result.code, result.stdout .. result.stderr)
    result = there [[lua5.4 -l luhip -e 'print(luhip.open():from("f32", { 1, 2, 3 }):read()[3])']]
    assert.equal("3.0\n", result.stdout, result.stderr)
    result = there "apt-get -qq remove -y luhip && find /usr -path '*luhip*' | grep -v /doc"
    assert.equal(
      "",
      result.stdout
        :gsub("[^\n]*\r", "")
        :gsub("%(Reading[^\n]*\n", "")
        :gsub("Removing[^\n]*\n", "")
        :gsub("Processing[^\n]*\n", "")
        :gsub("^%s+", "")
    )
  end)
end)
