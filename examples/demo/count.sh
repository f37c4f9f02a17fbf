# SPDX-License-Identifier: Apache-2.0
# Lines of source by layer: files on one side, a CSV on the other, pipes between.
set -e
echo "layer,file,lines" >lines.csv
find /src -name '*.cc' -o -name '*.h' | sort | while read -r file; do
	layer=$(echo "$file" | cut -d/ -f3)
	echo "$layer,${file##*/},$(wc -l <"$file" | tr -d ' ')"
done >>lines.csv

echo "shell: $(($(wc -l <lines.csv) - 1)) files in $(tail -n +2 lines.csv | cut -d, -f1 | sort -u | wc -l | tr -d ' ') layers; the longest:"
tail -n +2 lines.csv | sort -t, -k3 -rn | head -3
