-- What no published row breaks. Each rule is a name, a sentence about the row, and a SELECT of the places of such rows.
-- Where a rule withdraws, a published row that breaks it goes; other published ones are named until they are measured.
-- The views are those of publish/staging.py; seen(status, unstable) are the statuses that a row says were seen.

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
WHERE status = 'crash' AND stage NOT IN ('export', 'load', 'parse', 'build', 'place', 'run')
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
