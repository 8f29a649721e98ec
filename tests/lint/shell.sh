#!/usr/bin/env bash
# shell.sh FOLDER...: shellcheck is content with every script below, and with .ci/run.
set -euo pipefail

mapfile -t scripts < <(find "$@" -name '*.sh' | sort)
[ ${#scripts[@]} -gt 0 ] || { echo "shell: no script in $*" && exit 1; }
shellcheck --severity=warning --external-sources --source-path=SCRIPTDIR "${scripts[@]}" .ci/run
echo "shell: ${#scripts[@]} scripts are clean"
