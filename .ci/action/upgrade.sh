#!/usr/bin/env bash
# Compares LOCK with what it was at BASE; the summary goes to a file, and to the page of the run.
set -euo pipefail

before="$RUNNER_TEMP/before-$(basename "$LOCK")"
summary="$RUNNER_TEMP/caniexport.md"
pattern='(torch|onnx|onnxscript|onnxruntime(-[a-z]+)?)'
if ! git show "$BASE:$LOCK" >"$before"; then
    echo "$LOCK is not there at $BASE: nothing to compare with"
    exit 0
fi
if git diff --quiet "$BASE" -- "$LOCK"; then
    echo "$LOCK is as it was at $BASE"
    exit 0
fi
options=()
read -r -a options <<<"$FILTERS" || true
code=0
export COLUMNS=200
caniexport upgrade --lock "$before" --to-lock "$LOCK" "${options[@]}" >"$RUNNER_TEMP/upgrade.txt" || code=$?
[ "$code" -le 1 ] || exit "$code"
{
    printf '## caniexport\n\n'
    head -n 1 "$RUNNER_TEMP/upgrade.txt"
    printf '\n<details><summary>What changes</summary>\n\n~~~text\n'
    tail -n +3 "$RUNNER_TEMP/upgrade.txt"
    printf '~~~\n\n</details>\n\n<details><summary>%s</summary>\n\n~~~diff\n' "$LOCK"
    git diff --unified=1 "$BASE" -- "$LOCK" | grep -E -A2 "^[-+ ].*\b$pattern\b" | head -n 60 || true
    printf '~~~\n\n</details>\n'
} >"$summary"
if [ -n "$MODEL" ]; then
    release=$(sed -n 's/^From torch .* to torch \(.*\)\.$/\1/p' "$RUNNER_TEMP/upgrade.txt")
    checked=0
    caniexport check "$MODEL" --release "$release" >"$RUNNER_TEMP/check.txt" || checked=$?
    printf '\n<details open><summary>%s, measured on torch %s</summary>\n\n~~~text\n%s\n~~~\n\n</details>\n' \
        "$MODEL" "$release" "$(cat "$RUNNER_TEMP/check.txt")" >>"$summary"
    [ "$checked" -eq 0 ] || code=$checked
fi
cat "$summary" >>"$GITHUB_STEP_SUMMARY"
echo "summary=$summary" >>"$GITHUB_OUTPUT"
exit "$code"
