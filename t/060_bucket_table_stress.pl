# Bucket tables against plain tables that get the same statements: two clients,
# each with readings of its own in windows that both share, do what an
# application may do, while readings are sealed and tables vacuumed beside them.
# The server is killed in the middle; at the end everything is dumped and
# restored.
#
# PATTERN_BUCKET_OPERATIONS is the number of operations, PATTERN_BUCKET_SEED
# chooses others.
use strict;
use warnings;

use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep);

my $operations = $ENV{PATTERN_BUCKET_OPERATIONS} // 6000;
my $seed = $ENV{PATTERN_BUCKET_SEED} // 1;

my $node = PostgreSQL::Test::Cluster->new('stress');
$node->init(extra => [ '--encoding=UTF8', '--no-locale' ]);
$node->append_conf('postgresql.conf', "fsync = off\njit = off\nautovacuum_naptime = 1\nmax_wal_size = '2GB'\ndeadlock_timeout = '100ms'");
$node->start;
$node->safe_psql('postgres', 'CREATE DATABASE stress');

# One table for each way to treat a second reading of the same time, with
# windows of another kind each.  A client's k-th time is first + k * slot, plus
# a third of a slot for the second client.
$node->safe_psql('stress', <<'SQL');
CREATE EXTENSION pattern;
CREATE TABLE kinds (name text PRIMARY KEY, unit text, zone text, capacity integer, first timestamptz, slot interval, slots integer);
INSERT INTO kinds VALUES
	('keep', 'hour', 'UTC', 60, '2026-10-31 20:00Z', '20 seconds', 4320),
	('replace', 'day', 'America/New_York', 50, '2026-10-20 00:00Z', '10 minutes', 4320),
	('ignore', 'hour', 'America/New_York', 7, '2026-10-31 20:00Z', '30 seconds', 2880),
	('error', 'month', 'Europe/Amsterdam', 10, '1969-06-01 00:00Z', '6 hours', 1460);
SELECT create_bucket_table(name, meta_field => 'sensor', time_field => 'at', width => ('1 ' || unit)::interval, capacity => capacity,
	time_zone => zone, on_duplicate => name) FROM kinds;
CREATE TABLE progress (client integer PRIMARY KEY, done bigint NOT NULL);
INSERT INTO progress VALUES (1, 0), (2, 0);

-- What a plain table needs in order to do the same.
CREATE FUNCTION plain_reading() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
	mode text := TG_ARGV[0];
	written text := coalesce(NEW.doc->'at'->>'$date', NEW.doc->>'at');
	other boolean;
BEGIN
	IF written IS NULL OR NEW.doc->'sensor' IS NULL THEN
		RAISE SQLSTATE '22023';
	END IF;
	NEW.meta := NEW.doc->'sensor';
	NEW.at := CASE WHEN written ~ '(Z|[+-]\d\d(:?\d\d)?)$' THEN written::timestamptz ELSE written::timestamp AT TIME ZONE TG_ARGV[2] END;
	NEW.bucket_start := date_trunc(TG_ARGV[1], NEW.at, TG_ARGV[2]);
	IF mode = 'replace' AND (TG_OP = 'INSERT' OR (NEW.meta, NEW.at) IS DISTINCT FROM (OLD.meta, OLD.at)) THEN
		EXECUTE format('DELETE FROM %I WHERE meta = $1 AND at = $2', TG_TABLE_NAME) USING NEW.meta, NEW.at;
	ELSIF TG_OP = 'INSERT' AND mode = 'ignore' THEN
		EXECUTE format('SELECT exists(SELECT FROM %I WHERE meta = $1 AND at = $2)', TG_TABLE_NAME) INTO other USING NEW.meta, NEW.at;
		IF other THEN
			RETURN NULL;
		END IF;
	END IF;
	RETURN NEW;
END $$;

CREATE PROCEDURE create_plain(k kinds) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE TABLE plain_%s (doc jsonb, meta jsonb, at timestamptz, bucket_start timestamptz,
		client integer GENERATED ALWAYS AS ((doc->>''client'')::integer) STORED)', k.name);
	EXECUTE format('CREATE INDEX ON plain_%s (client, at)', k.name);
	EXECUTE format('CREATE %s INDEX ON plain_%s (meta, at)', CASE WHEN k.name <> 'keep' THEN 'UNIQUE' END, k.name);
	EXECUTE format('CREATE TRIGGER reading BEFORE INSERT OR UPDATE ON plain_%s FOR EACH ROW EXECUTE FUNCTION plain_reading(%L, %L, %L)',
		k.name, k.name, k.unit, k.zone);
END $$;
DO $$ DECLARE k kinds; BEGIN FOR k IN SELECT * FROM kinds LOOP CALL create_plain(k); END LOOP; END $$;

-- A bucket document, in plain SQL.
CREATE FUNCTION summary_of(readings jsonb) RETURNS jsonb LANGUAGE sql AS $$
	SELECT coalesce(jsonb_object_agg(stat || '_' || name, number), '{}')
	FROM (SELECT f.key AS name, min(n), max(n), sum(n), avg(n), count(n)
		  FROM jsonb_array_elements(readings) r(doc), jsonb_each(r.doc) f, LATERAL (SELECT (f.value #>> '{}')::numeric AS n) s
		  WHERE jsonb_typeof(f.value) = 'number' GROUP BY f.key) g,
		LATERAL (VALUES ('min', min), ('max', max), ('sum', sum), ('avg', avg), ('count', nullif(count, jsonb_array_length(readings)))) v(stat, number)
	WHERE number IS NOT NULL
$$;

-- How a bucket table differs from its plain table, and its documents from their
-- readings; no rows if all is well.
CREATE FUNCTION differences(k kinds) RETURNS TABLE(what text, n bigint) LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY EXECUTE replace(replace(replace($query$
		WITH reading AS (SELECT doc::text, meta, at, bucket_start FROM KIND),
			plain AS (SELECT doc::text, meta, at, bucket_start FROM plain_KIND),
			bucket AS (SELECT * FROM KIND_buckets),
			content AS (SELECT meta, bucket_start, bucket_end, r.doc, r.position, b.bucket_no,
							coalesce(r.doc->'at'->>'$date', r.doc->>'at') AS written
						FROM bucket b, jsonb_array_elements(b.doc->'readings') WITH ORDINALITY r(doc, position)),
			timed AS (SELECT *, CASE WHEN written ~ '(Z|[+-]\d\d(:?\d\d)?)$' THEN written::timestamptz
								ELSE written::timestamp AT TIME ZONE 'TZNAME' END AS at FROM content)
		SELECT 'readings missing', count(*) FROM (TABLE plain EXCEPT ALL TABLE reading) d
		UNION ALL SELECT 'readings too many', count(*) FROM (TABLE reading EXCEPT ALL TABLE plain) d
		UNION ALL SELECT 'readings missing in documents', count(*)
			FROM (TABLE plain EXCEPT ALL SELECT doc::text, meta, at, bucket_start FROM timed) d
		UNION ALL SELECT 'readings too many in documents', count(*)
			FROM (SELECT doc::text, meta, at, bucket_start FROM timed EXCEPT ALL TABLE plain) d
		UNION ALL SELECT 'counts and sums', count(*)
			FROM (SELECT meta, bucket_start, sum(count) AS n, sum((summary->>'sum_hum')::numeric) AS sum, max((summary->>'max_hum')::numeric) AS max,
					min((summary->>'min_hum')::numeric) AS min FROM bucket GROUP BY meta, bucket_start) b
			FULL JOIN (SELECT meta, bucket_start, count(*) AS n, sum((doc->>'hum')::numeric) AS sum, max((doc->>'hum')::numeric) AS max,
					min((doc->>'hum')::numeric) AS min FROM plain_KIND GROUP BY meta, bucket_start) p USING (meta, bucket_start)
			WHERE (b.n, b.sum, b.max, b.min) IS DISTINCT FROM (p.n, p.sum, p.max, p.min)
		UNION ALL SELECT 'counts', count(*) FROM bucket WHERE count <> jsonb_array_length(doc->'readings') OR (doc->>'count')::integer <> count OR count < 1
		UNION ALL SELECT 'over capacity', count(*) FROM bucket WHERE count > $1
		UNION ALL SELECT 'bucket numbers', count(*) FROM (SELECT FROM bucket GROUP BY meta, bucket_start, bucket_no HAVING count(*) > 1) d
		UNION ALL SELECT 'summaries', count(*) FROM bucket WHERE summary <> summary_of(doc->'readings') OR doc->'summary' <> summary
		UNION ALL SELECT 'windows', count(*) FROM bucket
			WHERE bucket_end <> ((bucket_start AT TIME ZONE 'TZNAME') + interval '1 UNIT') AT TIME ZONE 'TZNAME' AND 'UNIT' <> 'hour'
			   OR bucket_end <> bucket_start + interval '1 hour' AND 'UNIT' = 'hour'
		UNION ALL SELECT 'outside of the window', count(*) FROM timed WHERE at < bucket_start OR at >= bucket_end
		UNION ALL SELECT 'order', count(*)
			FROM (SELECT at, lag(at) OVER (PARTITION BY meta, bucket_start, bucket_no ORDER BY position) AS before FROM timed) o WHERE at < before
		$query$, 'KIND', k.name), 'TZNAME', k.zone), 'UNIT', k.unit) USING k.capacity;
END $$;

-- The times and documents of a client.
CREATE FUNCTION slot(k kinds, client integer, n integer) RETURNS timestamptz LANGUAGE sql AS $$
	SELECT k.first + n % k.slots * k.slot + (client - 1) * k.slot / 3
$$;

-- a time as text: with an offset of some kind, or in the time of the table's zone
CREATE FUNCTION written(k kinds, at timestamptz) RETURNS jsonb LANGUAGE plpgsql SET timezone = 'UTC' AS $$
DECLARE
	format text := 'YYYY-MM-DD"T"HH24:MI:SS';
BEGIN
	CASE floor(random() * 6)
		WHEN 0 THEN RETURN to_jsonb(to_char(at AT TIME ZONE '+03:00', format || '.MS"-03:00"'));
		WHEN 1 THEN RETURN to_jsonb(to_char(at AT TIME ZONE '-05:30', format || '"+05:30"'));
		WHEN 2 THEN RETURN jsonb_build_object('$date', to_char(at, format || '.MS"Z"'));
		WHEN 3 THEN
			-- unless the local time comes twice
			IF (at AT TIME ZONE k.zone) AT TIME ZONE k.zone = at THEN
				RETURN to_jsonb(to_char(at AT TIME ZONE k.zone, format));
			END IF;
		ELSE
	END CASE;
	RETURN to_jsonb(to_char(at, format || '"Z"'));
END $$;

CREATE FUNCTION new_meta() RETURNS jsonb LANGUAGE sql AS $$
	SELECT (ARRAY['"S1"', '"S2"', '"S3"', '7', '7.0', '{"site": 1, "unit": 2}', '["a", 1]', 'true']::jsonb[])[1 + floor(random() * 8)]
$$;

CREATE FUNCTION new_reading(k kinds, client integer, n integer DEFAULT random() * 1000000) RETURNS jsonb LANGUAGE sql AS $$
	SELECT jsonb_build_object('sensor', new_meta(), 'at', written(k, slot(k, client, n)), 'client', client, 'hum', floor(random() * 100))
		|| CASE floor(random() * 8)
			WHEN 0 THEN '{"temp": null}' WHEN 1 THEN '{"temp": "n/a"}' WHEN 2 THEN '{}'
			WHEN 3 THEN jsonb_build_object('temp', random()::numeric(20, 18) * 1e16) WHEN 4 THEN '{"temp": 0.1, "note": "twice"}'
			ELSE jsonb_build_object('temp', round(random()::numeric * 40, 2), 'note', repeat('x', (random() * 20)::integer)) END::jsonb
$$;

-- n readings of one series, one after the other
CREATE FUNCTION new_readings(k kinds, client integer, n integer) RETURNS SETOF jsonb LANGUAGE sql AS $$
	SELECT new_reading(k, client, start + i) || jsonb_build_object('sensor', meta)
	FROM (SELECT floor(random() * 1000000)::integer AS start, new_meta() AS meta) s, generate_series(1, n) i
$$;

-- a reading that stores another one while it is being stored
CREATE FUNCTION with_another(doc jsonb, relation text, other jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('INSERT INTO %I(doc) VALUES ($1)', relation) USING other;
	RETURN doc;
END $$;

-- A statement about readings of the client in the relation READINGS.
CREATE FUNCTION new_statement(k kinds, client integer) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	choice double precision := random() * 100;
	mine text;
	one text;
	docs jsonb[];
	r record;
BEGIN
	IF choice < 34 THEN
		RETURN format('INSERT INTO READINGS(doc) VALUES (%L)', new_reading(k, client));
	ELSIF choice < 40 THEN
		docs := ARRAY(SELECT new_reading(k, client) FROM generate_series(1, 1 + (random() ^ 3 * 40)::integer));
		RETURN format('INSERT INTO READINGS(doc) SELECT unnest(%L::jsonb[])', docs);
	ELSIF choice < 42 THEN
		docs := ARRAY(SELECT new_readings(k, client, 1 + (random() ^ 3 * 400)::integer));
		RETURN format('INSERT INTO READINGS(doc) SELECT unnest(%L::jsonb[])', docs);
	ELSIF choice < 44 THEN
		RETURN format('INSERT INTO READINGS(doc) VALUES (%L), (%L), (%L)', new_reading(k, client), new_reading(k, client), new_reading(k, client));
	ELSIF choice < 46 THEN
		RETURN format('INSERT INTO READINGS(doc) SELECT with_another(doc, %L, other) FROM (VALUES (%L::jsonb, %L::jsonb), (%L, %L)) v(doc, other)',
			'READINGS', new_reading(k, client), new_reading(k, client), new_reading(k, client), new_reading(k, client));
	ELSIF choice < 48 THEN
		RETURN format('WITH a AS (INSERT INTO READINGS(doc) VALUES (%L), (%L)), b AS (INSERT INTO READINGS(doc) VALUES (%L) RETURNING doc)
			INSERT INTO READINGS(doc) SELECT doc || %L FROM b', new_reading(k, client), new_reading(k, client), new_reading(k, client),
			jsonb_build_object('at', written(k, slot(k, client, (random() * 1000000)::integer))));
	ELSIF choice < 50 THEN
		RETURN format('COPY %L %L', 'READINGS', ARRAY(SELECT new_readings(k, client, 1 + (random() ^ 3 * 200)::integer)));
	END IF;

	-- the rest is about what is there
	EXECUTE format('SELECT meta, at, bucket_start FROM plain_%s WHERE client = $1 AND at >= $2 ORDER BY at LIMIT 1', k.name)
		INTO r USING client, slot(k, client, (random() * 1000000)::integer);
	IF r IS NULL THEN
		RETURN format('INSERT INTO READINGS(doc) VALUES (%L)', new_reading(k, client));
	END IF;
	mine := format('meta = %L AND bucket_start = %L AND doc->%L = %L', r.meta, r.bucket_start, 'client', client::text);
	one := format('%s AND at = %L', mine, r.at);
	IF choice < 62 THEN
		RETURN format('UPDATE READINGS SET doc = doc <~ %L WHERE %s',
			jsonb_build_object('$set', jsonb_build_object('temp', round(random()::numeric * 40, 2))), one);
	ELSIF choice < 66 THEN
		RETURN format('UPDATE READINGS SET doc = doc <~ %L WHERE %s', '{"$inc": {"hum": 1}, "$unset": {"temp": 1}}', mine);
	ELSIF choice < 69 THEN
		RETURN format('UPDATE READINGS SET doc = doc || %L WHERE %s',
			jsonb_build_object('at', written(k, slot(k, client, (random() * 1000000)::integer))), one);
	ELSIF choice < 72 THEN
		RETURN format('UPDATE READINGS SET doc = doc || %L WHERE %s', jsonb_build_object('sensor', new_meta()), one);
	ELSIF choice < 73 THEN
		RETURN format('INSERT INTO READINGS(doc) SELECT doc || %L FROM READINGS WHERE %s', jsonb_build_object('sensor', new_meta()), mine);
	ELSIF choice < 74 AND k.name = 'keep' THEN
		RETURN format('UPDATE READINGS SET doc = doc || jsonb_build_object(%L, at + interval %L) WHERE %s', 'at', k.slot * floor(random() * 300), mine);
	ELSIF choice < 93 THEN
		RETURN format('DELETE FROM READINGS WHERE %s', one);
	ELSE
		RETURN format('DELETE FROM READINGS WHERE %s', mine);
	END IF;
END $$;

-- Execute a statement on the relation; what it answers.
CREATE FUNCTION execute_on(relation text, statement text, client integer, answering boolean) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	n bigint;
	sum bigint;
	file text;
BEGIN
	IF statement LIKE 'COPY%' THEN
		file := format('%s/copy_%s', current_setting('data_directory'), client);
		EXECUTE format('COPY (SELECT unnest(%s::jsonb[])) TO %L', substr(statement, 17), file);
		-- on a view, COPY counts what is ignored, too
		EXECUTE format('COPY %I(doc) FROM %L', relation, file);
		RETURN 'copied';
	ELSIF answering THEN
		EXECUTE format('WITH changed AS (%s RETURNING *) SELECT count(*), sum(hashtextextended(concat(doc, at, bucket_start), 0) %% 1000000) FROM changed',
			replace(statement, 'READINGS', relation)) INTO n, sum;
		RETURN concat(n, ' ', sum);
	ELSE
		EXECUTE replace(statement, 'READINGS', relation);
		GET DIAGNOSTICS n = ROW_COUNT;
		RETURN n;
	END IF;
END $$;

-- The same in a subtransaction; an error is an answer, too.
CREATE FUNCTION try_on(relation text, statement text, client integer, answering boolean) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	RETURN execute_on(relation, statement, client, answering);
EXCEPTION WHEN unique_violation OR invalid_parameter_value THEN
	RETURN SQLSTATE;
END $$;

-- One operation.
CREATE PROCEDURE operate(k kinds, client integer) LANGUAGE plpgsql AS $$
DECLARE
	plain text := 'plain_' || k.name;
	choice double precision := random();
	statement text := new_statement(k, client);
	answering boolean := random() < 0.2 AND statement NOT LIKE 'WITH%';
	a text;
	b text;
BEGIN
	IF choice < 0.06 THEN
		-- an exception after the statement, and a statement before and after
		FOR i IN 1..2 LOOP
			BEGIN
				a := try_on(CASE i WHEN 1 THEN k.name ELSE plain END, statement, client, answering);
				BEGIN
					a := try_on(CASE i WHEN 1 THEN k.name ELSE plain END, format('INSERT INTO READINGS(doc) VALUES (%L)', new_reading(k, client)), client, false);
					RAISE SQLSTATE 'PT001';
				EXCEPTION WHEN SQLSTATE 'PT001' THEN
				END;
				IF choice < 0.04 THEN
					RAISE SQLSTATE 'PT002';
				END IF;
			EXCEPTION WHEN SQLSTATE 'PT002' THEN
			END;
		END LOOP;
	ELSIF choice < 0.09 THEN
		-- a statement that fails half way, and leaves nothing
		statement := format('INSERT INTO READINGS(doc) SELECT unnest(%L::jsonb[])',
			ARRAY(SELECT CASE WHEN i = n THEN doc - 'at' ELSE doc END
				FROM (SELECT *, floor(random() * 60) AS n FROM new_readings(k, client, 60) WITH ORDINALITY r(doc, i)) s));
		a := try_on(k.name, statement, client, answering);
		b := try_on(plain, statement, client, answering);
	ELSIF choice < 0.5 OR k.name = 'error' OR statement LIKE 'UPDATE%' THEN
		a := try_on(k.name, statement, client, answering);
		b := try_on(plain, statement, client, answering);
	ELSIF statement LIKE 'INSERT INTO READINGS(doc) VALUES%' AND NOT answering THEN
		-- by plans that are kept
		EXECUTE format('EXECUTE insert_%s(%s)', k.name, substring(statement FROM 'VALUES \((.*?)\)(?:$|, \()'));
		EXECUTE format('EXECUTE insert_%s(%s)', plain, substring(statement FROM 'VALUES \((.*?)\)(?:$|, \()'));
	ELSE
		a := execute_on(k.name, statement, client, answering);
		b := execute_on(plain, statement, client, answering);
	END IF;
	IF a <> b THEN
		RAISE EXCEPTION '% of % on %: %', a, b, k.name, left(statement, 400);
	END IF;
END $$;

-- Operations until n are done, several in a transaction now and then, a few
-- transactions for nothing.
CREATE PROCEDURE stress(stressing integer, seed integer, n bigint) LANGUAGE plpgsql AS $$
DECLARE
	kind text;
	k kinds;
	already bigint;
BEGIN
	SELECT done INTO already FROM progress WHERE client = stressing;
	PERFORM setseed((seed * 7919 + stressing * 104729 + already) % 1000003 / 1000003.0);
	WHILE already < n LOOP
		SELECT * INTO k FROM kinds ORDER BY random() + CASE name WHEN 'keep' THEN 0 ELSE 0.3 END LIMIT 1;
		CALL operate(k, stressing);
		already := already + 1;
		IF already = n OR random() < 0.7 THEN
			UPDATE progress SET done = already WHERE client = stressing;
			IF random() < 0.03 THEN
				ROLLBACK;
				SELECT done INTO already FROM progress WHERE client = stressing;
			ELSE
				COMMIT;
			END IF;
		END IF;
	END LOOP;
END $$;

-- Sealing beside them, until it is told to stop.
CREATE TABLE sealing (stop boolean);
CREATE PROCEDURE seal() LANGUAGE plpgsql AS $$
DECLARE
	k kinds;
BEGIN
	LOOP
		EXIT WHEN exists(SELECT FROM sealing);
		FOR k IN SELECT * FROM kinds ORDER BY random() LOOP
			PERFORM seal_buckets(k.name::regclass, CASE WHEN random() < 0.5 THEN slot(k, 1, (random() * 1000000)::integer) END);
			COMMIT;
		END LOOP;
		PERFORM pg_sleep(random() * 0.3);
	END LOOP;
END $$;
SQL

my @prepare = map { ('-c', "PREPARE insert_$_(jsonb) AS INSERT INTO $_(doc) VALUES (\$1)") }
  map { ($_, "plain_$_") } qw(keep replace ignore error);

# A session that runs beside us.
sub session
{
	my ($options, @commands) = @_;
	my %session = (out => '', err => '');
	local $ENV{PGOPTIONS} = $options;

	$session{run} = IPC::Run::start(
		[ 'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('stress'), @commands ],
		'<', \undef, '>', \$session{out}, '2>', \$session{err});
	return \%session;
}

sub client
{
	my ($client, $goal) = @_;

	return session($client == 2 ? '-c timezone=Asia/Tokyo' : '-c timezone=UTC', @prepare, '-c', "CALL stress($client, $seed, $goal)");
}

# Wait for a session; whether it ended well.
sub finish
{
	my ($session) = @_;

	eval { $session->{run}->finish; 1 } or return 0;
	return ($session->{run}->full_result(0) // 0) == 0 && $session->{err} !~ /ERROR|FATAL/;
}

my $compare = q{SELECT name || ': ' || what || ' ' || n FROM kinds, differences(kinds) WHERE n > 0};

# What differs, as one snapshot sees it.
sub differences
{
	my ($database) = @_;

	return $node->safe_psql($database // 'stress', $compare);
}

# Both clients do operations until each has done so many, with sealing, vacuum
# and looking beside them.  With a kill: until half of those that remain are
# done; then the server dies.
my $deadlocks = 0;

sub operate
{
	my ($goal, $kill) = @_;
	my $done = 'SELECT sum(done) FROM progress';
	my $half = ($node->safe_psql('stress', $done) + 2 * $goal) / 2;
	my @sessions;
	my $looks = 0;
	my @wrong;

	$node->safe_psql('stress', 'TRUNCATE sealing');
	my @clients = map { client($_, $goal) } 1 .. 2;
	my @sealers = map { session('', '-c', 'CALL seal()') } 1 .. 2;

	while (grep { $_->{run} } @clients)
	{
		foreach my $i (0 .. 1)
		{
			my $client = $clients[$i];

			next if !$client->{run} || $client->{run}->pumpable && eval { $client->{run}->pump_nb; $client->{run}->pumpable };
			my $well = finish($client);
			if (!$well && $client->{err} =~ /deadlock detected/)
			{
				# what an application does after one
				$deadlocks++;
				$clients[$i] = client($i + 1, $goal);
				next;
			}
			push @wrong, $client->{err} if !$well;
			delete $client->{run};
		}
		if ($kill && $node->safe_psql('stress', $done) >= $half)
		{
			my @pids = split /\n/, $node->safe_psql('stress', 'SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid()');

			$node->kill9;
			# a session that never waits would go on for as long as it has work
			kill 'KILL', @pids;
			finish($_) foreach grep { $_->{run} } @clients, @sealers;
			return;
		}
		$node->safe_psql('stress', "VACUUM ${_}_open, ${_}_sealed, plain_$_") foreach qw(keep replace ignore error);
		my $differences = differences();
		$looks++;
		push @wrong, $differences if $differences ne '';
		last if @wrong;
		sleep 0.2;
	}
	$node->safe_psql('stress', 'INSERT INTO sealing VALUES (true)');
	is(join("\n", @wrong), '', "clients get the same answers, $looks looks beside them find no difference");
	foreach my $sealer (@sealers)
	{
		ok(finish($sealer), 'sealing') or diag($sealer->{err});
	}
	BAIL_OUT('bucket tables differ') if @wrong;
	return;
}

# Whether the server may be started: none of its processes is left.
sub start_again
{
	foreach my $try (1 .. 300)
	{
		sleep 0.2;
		# the file of the dead postmaster is no sign of life
		$node->{_pid} = undef;
		return if $node->start(fail_ok => 1);
	}
	die 'the server does not start';
}

my $goal = int($operations / 2);

operate(int($goal / 2), 1);
start_again();
is(differences(), '', 'nothing is lost or doubled by a crash');
my $crashed = $node->safe_psql('stress', 'SELECT sum(done) FROM progress');
cmp_ok($crashed, '>', 0, 'and there was something to lose');

operate($goal);
is($node->safe_psql('stress', 'SELECT sum(done) FROM progress'), 2 * $goal, 'all operations');
is(differences(), '', 'the same, partly sealed');
note("$deadlocks deadlocks; " . $node->safe_psql('stress', q{
	SELECT string_agg(format('%s: %s readings in %s documents', name, n, documents), '; ') FROM (
		SELECT 'keep' AS name, (SELECT count(*) FROM plain_keep) AS n, (SELECT count(*) FROM keep_buckets) AS documents
		UNION ALL SELECT 'replace', (SELECT count(*) FROM plain_replace), (SELECT count(*) FROM replace_buckets)
		UNION ALL SELECT 'ignore', (SELECT count(*) FROM plain_ignore), (SELECT count(*) FROM ignore_buckets)
		UNION ALL SELECT 'error', (SELECT count(*) FROM plain_error), (SELECT count(*) FROM error_buckets)) s}));

# Everything sealed, as at the end of a day.
$node->safe_psql('stress', q{SELECT seal_buckets(name::regclass, 'infinity') FROM kinds});
is($node->safe_psql('stress', 'SELECT (SELECT count(*) FROM keep_open) + (SELECT count(*) FROM replace_open)
	+ (SELECT count(*) FROM ignore_open) + (SELECT count(*) FROM error_open)'), '0', 'nothing is left open');
is(differences(), '', 'the same, sealed');

# A copy from a dump has the same readings, and takes statements as before.
my $dump = $node->basedir . '/stress.dump';
$node->safe_psql('stress', q{INSERT INTO keep(doc) SELECT new_reading(kinds, 1) FROM kinds, generate_series(1, 5) WHERE name = 'keep';
	TRUNCATE plain_keep; INSERT INTO plain_keep(doc) SELECT doc FROM keep});
$node->safe_psql('postgres', 'CREATE DATABASE copy');
$node->command_ok([ 'pg_dump', '--format=custom', '--file', $dump, 'stress' ], 'dump');
$node->command_ok([ 'pg_restore', '--exit-on-error', '--dbname=copy', $dump ], 'restore');
is(differences('copy'), '', 'the copy is the same');
$node->command_ok([ 'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('copy'), @prepare, '-c', "CALL stress(1, $seed, $goal + 500)" ],
	'statements on the copy');
is($node->safe_psql('copy', q{SELECT count(*) FROM kinds WHERE seal_buckets(name::regclass, 'infinity') >= 0}), '4', 'sealing the copy');
is(differences('copy'), '', 'the copy goes on as the original would');

# The comparison itself: it sees what is missing, doubled or changed.
foreach my $break (
	[ 'DELETE FROM plain_keep WHERE ctid = (SELECT min(ctid) FROM plain_keep)', 'a reading too many' ],
	[ 'INSERT INTO plain_keep(doc) SELECT doc FROM plain_keep LIMIT 1', 'a reading too few' ],
	[ q{UPDATE plain_keep SET doc = doc || '{"hum": -1}' WHERE ctid = (SELECT min(ctid) FROM plain_keep)}, 'another reading' ],
	[ q{UPDATE keep_sealed SET summary = summary || '{"max_hum": 1000}' WHERE ctid = (SELECT min(ctid) FROM keep_sealed)}, 'a wrong summary' ],
	[ q{UPDATE kinds SET capacity = 1 WHERE name = 'keep'}, 'too many readings in a document' ])
{
	my ($statement, $name) = @$break;
	like($node->safe_psql('stress', "BEGIN; $statement; $compare; ROLLBACK"), qr/^keep: /, "$name is seen");
}

$node->stop;
done_testing();
