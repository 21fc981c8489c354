# What a regression test cannot show of the document functions: many sessions
# at once, an owner without superuser rights, dump and restore, memory.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(extra => [ '--encoding', 'UTF8', '--locale', 'C' ]);
$node->append_conf('postgresql.conf', "max_connections = 60\nfsync = off");
$node->start;

# The extension is trusted: who owns the database creates it, in any schema.
$node->safe_psql('postgres', q{
	CREATE ROLE shop_owner LOGIN;
	CREATE DATABASE shop OWNER shop_owner;
});
my @owner = (extra_params => [ '--username', 'shop_owner' ]);
$node->safe_psql('shop', q{
	CREATE SCHEMA ext;
	CREATE EXTENSION pattern SCHEMA ext;
	CREATE TABLE log (id int PRIMARY KEY, doc jsonb NOT NULL,
		n numeric GENERATED ALWAYS AS (jsonb_array_length(doc -> 'log')) STORED,
		CHECK (ext.doc_match(doc, '{"log": {"$type": "array"}, "log.0": "a"}')));
	CREATE INDEX log_long ON log (id) WHERE doc OPERATOR(ext.@~) '{"log.2": {"$exists": true}}';
	CREATE VIEW next AS SELECT id, ext.doc_update(doc, '{"$push": {"log": "next"}}') AS doc FROM log;
	INSERT INTO log VALUES (1, '{"log": ["a"]}');
}, @owner);
is($node->safe_psql('shop', "SELECT extowner::regrole FROM pg_extension WHERE extname = 'pattern'"),
	'shop_owner', 'the owner of a database creates the extension');

# One document, many writers, no lock asked for: nothing is lost.
my $script = $node->basedir . '/append.sql';
append_to_file($script,
	q{UPDATE log SET doc = doc OPERATOR(ext.<~) jsonb_build_object('$push', jsonb_build_object('log', :client_id)) WHERE id = 1;}
);
$node->command_ok(
	[ 'pgbench', '--no-vacuum', '--client=25', '--transactions=4', '--file', $script, 'shop' ],
	'25 sessions append 4 times each');
is($node->safe_psql('shop', q{
	SELECT count(*), count(DISTINCT v), min(n), max(n) FROM (
		SELECT v, count(*) AS n FROM log, jsonb_array_elements(doc -> 'log') v WHERE v <> '"a"' GROUP BY v) c
	}), '25|25|4|4', 'each of the 100 elements is there, once');

# A document that breaks the rule is refused, and stays as it was.
my ($rc, $out, $err) = $node->psql('shop', q{UPDATE log SET doc = ext.doc_update(doc, '{"$pop": {"log": -1}}')});
like($err, qr/violates check constraint/, 'a CHECK on a query');

# Everything comes back from a dump, under an empty search_path.
$node->safe_psql('postgres', 'CREATE DATABASE copy OWNER shop_owner');
my $dump = $node->basedir . '/shop.dump';
$node->command_ok([ 'pg_dump', '--format=custom', '--file', $dump, 'shop' ], 'dump');
$node->command_ok([ 'pg_restore', '--exit-on-error', '--dbname=copy', $dump ], 'restore');
my $state = q{SELECT id, n, md5(doc::text), (SELECT md5(doc::text) FROM next) FROM log WHERE doc OPERATOR(ext.@~) '{"log.2": {"$exists": true}}'};
is($node->safe_psql('copy', $state), $node->safe_psql('shop', $state), 'the copy is the same');
($rc, $out, $err) = $node->psql('copy', q{UPDATE log SET doc = '{"log": []}'});
like($err, qr/violates check constraint/, 'and has the same rules');

# The extension moves to another schema with all that stands on it.
$node->safe_psql('copy', 'CREATE SCHEMA other; ALTER EXTENSION pattern SET SCHEMA other');
is($node->safe_psql('copy', q{SELECT doc ->> 'log' LIKE '%"next"]' FROM next}), 't', 'SET SCHEMA');

# Memory stays flat, whatever the number of calls in a statement.  Errors leave nothing behind.
my $growth = $node->safe_psql('shop', q{
	CREATE FUNCTION used() RETURNS bigint VOLATILE LANGUAGE sql RETURN (SELECT sum(used_bytes) FROM pg_backend_memory_contexts);
	SELECT max(used) - min(used) < 100000, count(work) FROM (
		SELECT CASE WHEN g % 50000 = 0 THEN used() END AS used,
			length((ext.doc_update(jsonb_build_object('n', g, 'list', '["some text", {"a": 1}, 2.5]'::jsonb),
				jsonb_build_object('$inc', jsonb_build_object('n', g % 7), '$push', jsonb_build_object('list', jsonb_build_object('$each', jsonb_build_array(g), '$sort', 1, '$slice', -3))))
				OPERATOR(ext.<~) '[{"$set": {"m": {"$add": ["$n", 1]}, "x": ["$list", {"y": "$n"}]}}]')::text)
			+ ext.doc_match(jsonb_build_object('n', g), jsonb_build_object('n', jsonb_build_object('$gt', g % 3, '$regex', 'x')))::int AS work
		FROM generate_series(1, 200000) g OFFSET 0) calls;
});
is($growth, 't|200000', 'memory is flat over 200,000 calls');

$node->stop;
done_testing();
