-- What the rules of gate.sql ask: views over the rows to be published. staging.py makes the relations every_cells and
-- every_runs (all rows of both sides), other_runs and cells_elsewhere (of other profiles), the tables chosen (which rows
-- of every_* are taken, and why one is not published any more), environments, messages, variants and version.

-- an error that names our own package is ours; a frame that the tracer writes into a graph is of every export
CREATE OR REPLACE MACRO names_measuring_code(text) AS regexp_matches(
    regexp_replace(text, '(?m)^\s*\S+\(\d+\): \S+$', '', 'g'),
    '\b(?:caniexport|harness)[./\\](?:model|worker|runner)\b');

-- the statuses that a row says were seen; another exporter or opset than asked for is the file's, not the runtime's
CREATE OR REPLACE MACRO seen(status, unstable) AS CASE
    WHEN len(unstable) > 0 THEN list_concat(unstable, if(list_contains(unstable, 'degraded'), ['pass'], []))
    WHEN status = 'degraded' THEN ['degraded', 'pass'] ELSE [status] END;

-- Files that one and the same runtime does not always answer alike: each of their rows is a repetition of the others.
-- A bundle's name is a hash over its file, inputs and expected outputs. Where rows of one variant have one bundle and one
-- runtime, and some work and some do not, neither is what the cell does: it does both. Rows that others have taken the
-- place of count too: what was seen once is not unseen by measuring again. Left out are the variants whose session has
-- options of its own: not one runtime, but two.
CREATE OR REPLACE TABLE marks AS
WITH compared AS (
    SELECT "case", variant, bundle, runtime, runtime_version, provider, device, stage, status, signature, message_id,
        max_abs_error, max_rel_error, unstable, file, line, is_local FROM every_cells
    UNION ALL
    SELECT "case", variant, bundle, runtime, runtime_version, provider, device, stage, status, signature, message_id,
        max_abs_error, max_rel_error, unstable, file, line, is_local FROM every_runs WHERE session IS NULL
), reached AS NOT MATERIALIZED (
    SELECT r.* REPLACE (coalesce(runtime_version, '') AS runtime_version, coalesce(device, '') AS device,
            coalesce(runtime, '') AS runtime, coalesce(provider, '') AS provider),
        c.outdated IS NULL AND c.is_new IS NOT NULL AS is_chosen
    FROM compared r LEFT JOIN (SELECT line, outdated, is_new FROM chosen) c USING (line)
    WHERE bundle IS NOT NULL AND stage IN ('load', 'parse', 'build', 'place', 'run', 'compare', 'done')
        AND status NOT IN ('skip', 'not_run', 'invalid') AND (is_chosen OR NOT r.is_local)
        AND ("case", variant) NOT IN (SELECT "case", variant FROM variants WHERE asks)
), torn AS (
    SELECT bundle, "case", variant, runtime, runtime_version, provider, device FROM reached GROUP BY ALL
    HAVING bool_or(status IN ('pass', 'degraded')) AND NOT bool_and(status IN ('pass', 'degraded'))
        OR bool_or(unstable IS NOT NULL)
), repeated AS MATERIALIZED (
    SELECT * FROM reached SEMI JOIN torn USING (bundle, "case", variant, runtime, runtime_version, provider, device)
), worst AS (
    SELECT bundle, "case", variant, runtime, runtime_version, provider, device,
        list_sort(list_distinct(list_concat(list(status), flatten(list(coalesce(unstable, [])))))) AS seen,
        first({stage: stage, status: status, signature: signature, message_id: message_id,
            max_abs_error: if(isnan(max_abs_error), NULL, max_abs_error),
            max_rel_error: if(isnan(max_rel_error), NULL, max_rel_error)}
            ORDER BY list_position(['pass', 'degraded', 'unsupported', 'fail', 'timeout', 'oom', 'crash', 'mismatch'],
                status) DESC, NOT is_chosen, file, line) AS "row"
    FROM repeated GROUP BY ALL
)
SELECT line, "row".*, seen AS unstable FROM repeated
JOIN worst USING (bundle, "case", variant, runtime, runtime_version, provider, device) WHERE is_chosen;

-- Each row has line (its number among all), file (cells/….parquet), is_new (local, and not published before), label
-- (its name) and place, which has all of these.
CREATE OR REPLACE VIEW cells AS
    SELECT *, coalesce(apart, false) AND coalesce(attempts, 1) >= 2 AS is_settled,
        {line: line, file: file, is_new: is_new, label: label} AS place
    FROM (SELECT r.* REPLACE (if(m.line IS NULL, r.stage, m.stage) AS stage, if(m.line IS NULL, r.status, m.status) AS status, if(m.line IS NULL, r.signature, m.signature) AS signature,
            if(m.line IS NULL, r.message_id, m.message_id) AS message_id, if(m.line IS NULL, r.max_abs_error, m.max_abs_error) AS max_abs_error,
            if(m.line IS NULL, r.max_rel_error, m.max_rel_error) AS max_rel_error, if(m.line IS NULL, r.unstable, m.unstable) AS unstable), c.is_new,
            concat_ws('/', coalesce(torch, 'None'), "case", variant, coalesce(exporter, 'None'),
                coalesce(opset::VARCHAR, 'default')) AS label
        FROM every_cells r JOIN chosen c USING (line) LEFT JOIN marks m USING (line)
        WHERE c.outdated IS NULL);

CREATE OR REPLACE VIEW runs AS
    SELECT *, {line: line, file: file, is_new: is_new, label: label} AS place
    FROM (SELECT r.* REPLACE (if(m.line IS NULL, r.stage, m.stage) AS stage, if(m.line IS NULL, r.status, m.status) AS status, if(m.line IS NULL, r.signature, m.signature) AS signature,
            if(m.line IS NULL, r.message_id, m.message_id) AS message_id, if(m.line IS NULL, r.max_abs_error, m.max_abs_error) AS max_abs_error,
            if(m.line IS NULL, r.max_rel_error, m.max_rel_error) AS max_rel_error, if(m.line IS NULL, r.unstable, m.unstable) AS unstable), c.is_new,
            concat("case", '/', variant, ' (file ', bundle, ') on ', runtime, ' ', runtime_version, ' ', provider) AS label
        FROM every_runs r JOIN chosen c USING (line) LEFT JOIN marks m USING (line)
        WHERE c.outdated IS NULL);

CREATE OR REPLACE VIEW replays AS FROM runs UNION ALL BY NAME FROM other_runs;
