#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh FOLDER: tests the component of the world eryx:sandbox that `make component` has put there, in each host that it has made; 77
# when there is none.
set -eu
if [ ! -x "$1/component_host" ] || [ ! -f "$1/sandbox.cwasm" ]; then
	echo "The component is not built: \`make component\` makes it."
	exit 77
fi
"$1/component_host" "$1/sandbox.cwasm"
if [ ! -x "$1/eryx_host" ]; then
	echo "The host over the crate eryx is not built: \`make component\` says why."
	exit 0
fi
exec "$1/eryx_host" "$1/sandbox.wasm"
