# Variants and schema versions through a dump: the CHECK constraint and the
# trigger come back with their definitions, and nothing is applied twice.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(extra => [ '--encoding', 'UTF8', '--locale', 'C' ]);
$node->append_conf('postgresql.conf', 'fsync = off');
$node->start;
$node->safe_psql('postgres', q{
	CREATE SCHEMA ext;
	CREATE EXTENSION pattern SCHEMA ext;
	CREATE SCHEMA "my app";
	CREATE FUNCTION "my app".next_version(doc jsonb) RETURNS jsonb LANGUAGE sql AS
	$$ SELECT doc || jsonb_build_object('schema_version', coalesce(ext.doc_version(doc), 0) + 1, 'steps', coalesce((doc->'steps')::int, 0) + 1) $$;
	CREATE TABLE "my app".content (id int PRIMARY KEY, doc jsonb NOT NULL);
	SELECT ext.create_polymorphic('"my app".content', 'doc');
	SELECT ext.add_variant('"my app".content', 'doc', 'VIDEO', '{"required": ["seconds"], "properties": {"seconds": {"bsonType": "int"}}}', view_name => 'videos');
	INSERT INTO "my app".content VALUES (1, '{"type": "VIDEO", "seconds": 5}');
	SELECT ext.create_versioning('"my app".content', 'doc', 2, '"my app".next_version(jsonb)');
	INSERT INTO "my app".content VALUES (2, '{"type": "VIDEO", "seconds": 6}');
	CREATE VIEW "my app".current AS SELECT id, ext.doc_upgrade(doc, '"my app".next_version(jsonb)', 2) AS doc FROM "my app".content;
});
my $dump = $node->basedir . '/polymorphic.dump';
$node->safe_psql('postgres', 'CREATE DATABASE copy');
$node->command_ok([ 'pg_dump', '--format=custom', '--file', $dump, 'postgres' ], 'dump');
$node->command_ok([ 'pg_restore', '--exit-on-error', '--dbname=copy', $dump ], 'restore');
foreach my $query (
	'SELECT * FROM "my app".content ORDER BY id',
	'SELECT * FROM "my app".current ORDER BY id',
	'SELECT * FROM "my app".videos ORDER BY 1',
	q{SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = '"my app".content'::regclass AND contype = 'c'},
	q{SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE tgrelid = '"my app".content'::regclass})
{
	is($node->safe_psql('copy', $query), $node->safe_psql('postgres', $query), $query);
}
is($node->safe_psql('copy', q{INSERT INTO "my app".content VALUES (3, '{"type": "VIDEO", "seconds": 7, "schema_version": 1}') RETURNING doc->'steps'}), '1', 'upgraded in the copy');
my ($status, $output, $complaint) = $node->psql('copy', q{INSERT INTO "my app".content VALUES (4, '{"type": "VIDEO"}')});
like($complaint, qr/violates the schema of variant "VIDEO"/, 'refused in the copy');
is($node->safe_psql('copy', q{SELECT ext.upgrade_documents('"my app".content', 'doc'), ext.upgrade_documents('"my app".content', 'doc')}), '1|0', 'a batch in the copy');
is($node->safe_psql('copy', q{SELECT ext.drop_versioning('"my app".content', 'doc'), ext.drop_polymorphic('"my app".content', 'doc')}), 't|t', 'and found again to be dropped');

$node->stop;
done_testing();
