-- What answers ask: views over the rows that are taken (which_row.py), of every profile.
-- views.py makes the relations cells, replays (of runtimes), steps (of tools and plugins), message (each with its
-- profile), variants, samples, and the tables places, version and sampled_release, first.

-- whether a user's model works there; null where that was not measured
CREATE OR REPLACE TEMP MACRO works(status) AS CASE
    WHEN status IN ('pass', 'degraded') THEN true
    WHEN status IN ('skip', 'not_run', 'invalid') THEN NULL
    WHEN status IS NOT NULL THEN false END;

-- the verdict of a workaround, from how the original and the workaround end in the same cell
CREATE OR REPLACE TEMP MACRO verdict(plain, workaround) AS CASE
    WHEN works(plain) IS NULL OR works(workaround) IS NULL THEN 'unknown'
    WHEN plain = 'unsupported' AND workaround = 'unsupported' THEN 'unknown'
    WHEN works(plain) AND works(workaround) THEN 'obsolete'
    WHEN works(plain) THEN 'harmful'
    WHEN works(workaround) THEN 'needed'
    ELSE 'broken' END;

-- what a user tries to export, and the workarounds of it that may be advised: each row one variant of a documented case
-- but those of what is installed together, which export nothing
CREATE OR REPLACE TEMP TABLE environment AS SELECT DISTINCT "case" FROM cells WHERE exporter IS NULL;
CREATE OR REPLACE TEMP VIEW original AS SELECT * FROM variants
    WHERE variant = 'plain' AND corpus <> 'canary' AND "case" NOT IN (SELECT "case" FROM environment);
CREATE OR REPLACE TEMP VIEW workaround AS SELECT * FROM variants
    WHERE variant <> 'plain' AND corpus <> 'canary' AND NOT caution AND kind <> 'version-upgrade';

-- the exporter and the opset of each release's default call, as most of its files have them
CREATE OR REPLACE TEMP TABLE release AS
    SELECT profile, torch, n,
        arg_max(exporter_effective, files_of_exporter) AS exporter, arg_max(opset_effective, files) AS opset
    FROM (SELECT *, sum(files) OVER (PARTITION BY profile, torch, exporter_effective) AS files_of_exporter FROM (
        SELECT profile, torch, exporter_effective, opset_effective, sum(cells) AS files FROM places
        WHERE exporter = 'default' AND opset_effective IS NOT NULL GROUP BY ALL))
    JOIN version USING (torch) GROUP BY ALL;

-- the opsets that an exporter takes: asked for and not refused to all; own: what it writes where none is asked for
CREATE OR REPLACE TEMP TABLE call AS
    WITH taken AS (
        SELECT profile, torch, exporter, opset FROM places
        WHERE opset IS NOT NULL AND stage NOT IN ('resolve', 'import', 'eager') GROUP BY ALL
        HAVING bool_or(works(status) AND exporter_effective IS NOT DISTINCT FROM exporter
                AND opset_effective IS NOT DISTINCT FROM opset) OR NOT bool_or(status = 'unsupported')),
    own AS (
        SELECT profile, torch, exporter_effective AS exporter, arg_max(opset_effective, files) AS opset FROM (
            SELECT profile, torch, exporter_effective, opset_effective, sum(cells) AS files FROM places
            WHERE exporter = 'default' AND opset_effective IS NOT NULL GROUP BY ALL) GROUP BY ALL)
    SELECT taken.profile, taken.torch, taken.exporter, taken.opset,
        row_number() OVER (PARTITION BY taken.profile, taken.torch, taken.exporter
            ORDER BY abs(taken.opset - coalesce(own.opset, release.opset, 99)), taken.opset) = 1 AS is_own
    FROM taken LEFT JOIN own USING (profile, torch, exporter) LEFT JOIN release USING (profile, torch);

-- operator samples: torch's own test inputs of its operators. An operator is judged by the first dtype that it has in
-- the newest release
CREATE OR REPLACE TEMP MACRO dtype_rank(dtype) AS
    coalesce(list_position(['float32', 'int64', 'bool', 'complex64'], dtype), 5);
CREATE OR REPLACE TEMP VIEW judged AS
    SELECT op, arg_min(dtype, (form IS NOT NULL, -n, dtype_rank(dtype), dtype)) AS first_dtype
    FROM samples JOIN sampled_release USING (torch) WHERE exporter IS NOT NULL AND calls > 0 GROUP BY op;

-- how the samples of an operator, dtype and form end by an exporter in a release. opsets: those at which all of them
-- pass; ends: how many pass at each that was tried; error: of the opset at which most pass and one does not; given: the
-- same number where the samples are the same
CREATE OR REPLACE TEMP VIEW sampled AS
    SELECT op, dtype, form, exporter, torch, n,
        list(opset ORDER BY opset) FILTER (works(status)) AS opsets,
        list({opset: opset, status: status, passing: passing, samples: calls} ORDER BY opset) AS ends,
        arg_max(signature, (passing, opset)) FILTER (NOT works(status)) AS error,
        any_value(hash(arguments)) AS given
    FROM samples JOIN sampled_release USING (torch) WHERE exporter IS NOT NULL AND calls > 0 GROUP BY ALL;
