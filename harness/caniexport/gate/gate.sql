-- What no published row breaks. Each rule is a name, a sentence about the row, and a SELECT of the places of such rows;
-- of a row that breaks several the first is named. Where a rule withdraws, a published row that breaks it goes; other
-- published ones are named until they are measured. Where it settles, a cell measured apart and twice is what it is.
-- The views are those of gate/staging.sql.

-- rule quarantined withdraws: its run is quarantined
-- Environment cases have no run to judge.
SELECT place FROM cells SEMI JOIN (SELECT env_id, run_id FROM environments WHERE gate <> 'good') e USING (env_id, run_id)
WHERE torch IS NOT NULL;

-- rule own-error withdraws settles: its error names the measuring code
WITH every AS (SELECT place, message_id, signature FROM cells UNION ALL SELECT place, message_id, signature FROM runs)
SELECT place FROM every
WHERE names_measuring_code(signature) OR message_id IN (SELECT message_id FROM messages WHERE names_measuring_code(text));

-- rule differs withdraws settles: its variant came out differently when it was measured again
-- A run's A/A sample says so of the rows of the same code in the same environment: case/variant/exporter/opset: what.
WITH differing AS (
    SELECT env_id, codes, string_split(split_part(unnest(differing), ': ', 1), '/') AS cell FROM environments
)
SELECT DISTINCT place FROM cells c JOIN differing d
    ON d.env_id = c.env_id AND d.cell[1] = c."case" AND d.cell[2] = c.variant AND d.cell[3] = c.exporter
WHERE NOT is_settled AND if(len(codes) > 0, coalesce(list_contains(codes, code), false), code IS NULL);

-- rule implausible settles: it fails in this release alone, as a broken measurement would make it
-- It works in the release before and in the one after, with the same exporter and opset. Where its words are known from
-- this release alone: all cells with these words; else as far as such cells are many, and of many cases.
WITH measured AS (
    SELECT place, torch, exporter, provider, "case", status, signature, is_settled, n,
        concat_ws(chr(0), coalesce(provider, ''), "case", variant, coalesce(exporter, ''), coalesce(opset, -1)) AS cell
    FROM cells JOIN version USING (torch) WHERE "case" IS NOT NULL
), working AS (
    SELECT DISTINCT cell, n FROM measured WHERE status IN ('pass', 'degraded')
), broken AS (
    SELECT * FROM measured WHERE status IN ('unsupported', 'fail', 'timeout', 'oom', 'crash', 'unstable', 'mismatch')
), isolated AS (
    SELECT m.* FROM broken m
    SEMI JOIN working b ON b.cell = m.cell AND b.n = m.n - 1
    SEMI JOIN working a ON a.cell = m.cell AND a.n = m.n + 1
), of_one_release AS (
    SELECT signature FROM measured GROUP BY signature HAVING count(DISTINCT torch) = 1
    AND signature IN (SELECT signature FROM isolated)
), in_bulk AS (
    SELECT torch, provider, exporter, signature FROM isolated GROUP BY ALL
    HAVING count(*) >= 20 AND count(DISTINCT "case") >= 5
)
SELECT place FROM broken SEMI JOIN of_one_release USING (signature) WHERE NOT is_settled
UNION
SELECT place FROM isolated SEMI JOIN in_bulk USING (torch, provider, exporter, signature) WHERE NOT is_settled;

-- rule unstable settles: its variant is unstable in another place, and it was not measured apart and twice
WITH known AS (
    SELECT "case", variant FROM cells WHERE unstable IS NOT NULL
    UNION SELECT "case", variant FROM cells_elsewhere WHERE unstable IS NOT NULL
)
SELECT place FROM cells SEMI JOIN known USING ("case", variant) WHERE NOT is_settled AND unstable IS NULL;

-- rule moved settles: it was published with another outcome, of the same case in the same environment
-- Either the measuring code is the cause, or the exporter does not always answer alike. What failed before a runtime was
-- reached carries none. Two outcomes of one and the same file are the runtime's.
SELECT DISTINCT c.place FROM cells c JOIN every_cells b
    ON NOT b.is_local AND b.torch = c.torch AND b."case" = c."case" AND b.variant = c.variant
    AND b.exporter = c.exporter AND b.opset IS NOT DISTINCT FROM c.opset AND b.provider IS NOT DISTINCT FROM c.provider
    AND b.case_hash IS NOT DISTINCT FROM c.case_hash AND b.measuring IS NOT DISTINCT FROM c.measuring
    AND b.python IS NOT DISTINCT FROM c.python AND b.onnx IS NOT DISTINCT FROM c.onnx
    AND b.onnxscript IS NOT DISTINCT FROM c.onnxscript
WHERE c.is_new AND NOT c.is_settled AND c.unstable IS NULL AND b.unstable IS NULL
    AND b.status NOT IN ('skip', 'not_run', 'invalid')
    AND (c.runtime IS NULL OR b.runtime IS NULL
        OR (c.runtime = b.runtime AND c.runtime_version IS NOT DISTINCT FROM b.runtime_version))
    AND c.bundle IS DISTINCT FROM coalesce(b.bundle, '')
    AND (c.status <> b.status OR c.signature IS DISTINCT FROM b.signature);

-- rule default-call: its default call ends otherwise than the named call with the same exporter and opset
-- A default call that writes no file is compared at the exporter and opset of most default calls of its release.
WITH different(variant_of, exporter, reason) AS (VALUES
    ('export-params-false-drops-weights', 'dynamo', 'the named call hands its weights over in memory'),
    ('input-as-only-output', 'dynamo', 'the default call names no inputs'),
    ('input-handed-through', 'dynamo', 'the default call names no inputs'),
    ('output-named-as-an-operator', 'dynamo', 'the default call names no outputs'),
    ('trace-loop-unrolls-n2', 'torchscript-trace', 'the default call of a scripted model gives no example_outputs'),
    ('trace-loop-unrolls-n3', 'torchscript-trace', 'the default call of a scripted model gives no example_outputs')
), usual AS (
    SELECT torch, provider, exporter_effective, opset_effective FROM cells
    WHERE exporter = 'default' AND opset_effective IS NOT NULL
    GROUP BY torch, provider, exporter_effective, opset_effective
    QUALIFY row_number() OVER (PARTITION BY torch, provider ORDER BY count(*) DESC) = 1
), asked AS (
    SELECT c.*, coalesce(c.exporter_effective, u.exporter_effective) AS written_by,
        coalesce(c.opset_effective, u.opset_effective) AS written_at
    FROM cells c LEFT JOIN usual u USING (torch, provider) WHERE c.exporter = 'default'
), pairs AS (
    SELECT d.place AS default_call, n.place AS named_call
    FROM asked d JOIN cells n ON n.torch = d.torch AND n.provider = d.provider AND n."case" = d."case"
        AND n.variant = d.variant AND n.exporter = d.written_by AND n.opset = d.written_at
        AND coalesce(n.runtime_version = d.runtime_version, true)
    LEFT JOIN variants v ON v."case" = d."case" AND v.variant = d.variant
    WHERE NOT list_has_any(seen(n.status, n.unstable), seen(d.status, d.unstable))
        -- dynamo takes dynamic_shapes where it is named, and dynamic_axes in the default call
        AND NOT (d.written_by = 'dynamo' AND coalesce(v.dynamic, false))
        AND (d."case", d.written_by) NOT IN (SELECT variant_of, exporter FROM different)
)
SELECT default_call FROM pairs UNION SELECT named_call FROM pairs WHERE named_call.is_new;

-- rule crash-stage: it crashes at a stage that is neither the exporter's nor the runtime's
-- Torch itself can crash (stage eager): that counts where a second attempt confirms it.
SELECT place FROM (SELECT place, status, stage, attempts FROM cells UNION ALL SELECT place, status, stage, 1 FROM runs)
WHERE status = 'crash' AND stage NOT IN ('export', 'tool', 'load', 'parse', 'build', 'place', 'run')
    AND NOT (stage = 'eager' AND coalesce(attempts, 1) > 1);

-- rule no-gate: no verdict on its run was kept
-- An environment case has no run: it makes its own environment.
SELECT place FROM (SELECT place, env_id, run_id FROM cells WHERE torch IS NOT NULL) c
ANTI JOIN (SELECT env_id, run_id FROM environments WHERE gate IS NOT NULL) e USING (env_id, run_id);

-- rule unjudged-replay withdraws: nobody judged its run of files
SELECT place FROM runs ANTI JOIN (SELECT env_id, run_id FROM environments WHERE gate IS NOT NULL) e USING (env_id, run_id);

-- rule own-replay: its cell and the replay of its file on the same runtime end otherwise
WITH pairs AS (
    SELECT c.place AS cell, r.place AS replay
    FROM cells c JOIN replays r USING (bundle, runtime, runtime_version, provider)
    LEFT JOIN variants v ON v."case" = c."case" AND v.variant = c.variant
    WHERE (r.session IS NOT NULL) = coalesce(v.asks, false)
        AND NOT list_has_any(seen(c.status, c.unstable), seen(r.status, r.unstable))
)
SELECT cell FROM pairs UNION SELECT replay FROM pairs WHERE replay.is_new;

-- rule orphan withdraws: no published cell has its file
-- ONNX's node tests, probes and canaries come with every archive.
SELECT place FROM runs r
WHERE corpus = 'documented' AND NOT EXISTS (SELECT 1 FROM cells c WHERE c.bundle = r.bundle)
    AND NOT EXISTS (SELECT 1 FROM cells_elsewhere c WHERE c.bundle = r.bundle);

-- rule no-node: no node of its file ran on its provider
-- Every run on a provider of onnxruntime is profiled: a file whose outputs are constants or inputs has no node.
SELECT place FROM runs
WHERE runtime = 'onnxruntime' AND provider <> 'cpu' AND placement IS NULL AND status IN ('pass', 'degraded', 'mismatch');
