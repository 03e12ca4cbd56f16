#!/usr/bin/env bash
# Imports the distribution's kernel source package into a bare git repository, once for each package version.
# usage: linux-source.sh REPOSITORY     the tag `linux-source` names the newest import
set -euo pipefail

repository=${1:?usage: linux-source.sh REPOSITORY}
# The names and their order are those of packages.sh.
for package in linux-source-6.12 linux-source-6.8.0; do
    tarball=$(ls /usr/src/"$package".tar.* /usr/src/"$package"/"$package".tar.* 2>/dev/null | head -n 1 || true)
    [ -z "$tarball" ] || break
done
[ -n "$tarball" ] || { echo "linux-source.sh: no kernel source package in /usr/src; run labs/demo/packages.sh" >&2; exit 1; }
version=$(dpkg-query -W -f='${Version}' "$package" | sed 's/[^A-Za-z0-9.+-]/-/g')
tag="$package-$version"

# Nothing of the user's git configuration may change what is imported.
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
export GIT_AUTHOR_NAME=kab GIT_AUTHOR_EMAIL=kab@localhost GIT_AUTHOR_DATE='2026-01-01T00:00:00Z'
export GIT_COMMITTER_NAME=kab GIT_COMMITTER_EMAIL=kab@localhost GIT_COMMITTER_DATE='2026-01-01T00:00:00Z'

if git -C "$repository" rev-parse -q --verify "refs/tags/$tag" >/dev/null 2>&1; then exit 0; fi

echo "linux-source.sh: importing $tarball ($version) into $repository, about a minute"
mkdir -p "$(dirname "$repository")"
work=$(mktemp -d "$(dirname "$repository")/import.XXXXXX")
trap 'rm -rf "$work"' EXIT
tar -xf "$tarball" -C "$work" --strip-components=1
[ -d "$repository" ] || git init -q --bare -b main "$repository"
# The tree's own .gitignore ends in `/*`: without -f nothing would be added.
git --git-dir="$repository" --work-tree="$work" add -A -f
tree=$(git --git-dir="$repository" write-tree)
commit=$(git --git-dir="$repository" commit-tree -m "$package $version" "$tree")
git --git-dir="$repository" update-ref refs/heads/main "$commit"
git --git-dir="$repository" tag -a -f -m "$package $version" "$tag" "$commit"
git --git-dir="$repository" tag -f linux-source "$commit" >/dev/null
rm -f "$repository/index"
echo "linux-source.sh: done, tag $tag"
