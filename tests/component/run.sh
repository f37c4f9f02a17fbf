#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh FOLDER: tests the component of the world eryx:sandbox that `make component` has put there; 77 when it has not.
set -eu
if [ ! -x "$1/component_host" ] || [ ! -f "$1/sandbox.cwasm" ]; then
	echo "The component is not built: \`make component\` makes it."
	exit 77
fi
exec "$1/component_host" "$1/sandbox.cwasm"
