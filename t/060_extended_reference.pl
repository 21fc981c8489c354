# What a regression test cannot show of extended references: dump and restore,
# and many sessions at once.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(extra => [ '--encoding', 'UTF8', '--locale', 'C' ]);
$node->append_conf('postgresql.conf', "fsync = off\njit = off");
$node->start;

# The extension and the tables are in three schemas, none of them in the search_path.
$node->safe_psql('postgres', 'CREATE DATABASE shop');
$node->safe_psql('shop', q{
	CREATE SCHEMA ext;
	CREATE EXTENSION pattern SCHEMA ext;
	CREATE SCHEMA "My-App";
	CREATE SCHEMA s2;
	CREATE TABLE "My-App"."The Customers" (id int PRIMARY KEY, "the name" text, phone text, doc jsonb);
	CREATE TABLE s2.orders (id int PRIMARY KEY, doc jsonb) PARTITION BY RANGE (id);
	CREATE TABLE s2.orders_1 PARTITION OF s2.orders FOR VALUES FROM (0) TO (100);
	SET search_path = '';
	INSERT INTO "My-App"."The Customers" SELECT g, 'name ' || g, '555-' || g, '{"city": "Pune"}' FROM generate_series(1, 10) g;
	SELECT ext.create_extended_reference('s2.orders', 'doc', '{customer}', '"My-App"."The Customers"', '{customer,_id}',
		'{"\"the name\" AS name",phone:live,city}');
	INSERT INTO s2.orders SELECT g, jsonb_build_object('customer', jsonb_build_object('_id', g)) FROM generate_series(1, 9) g;
	UPDATE "My-App"."The Customers" SET "the name" = 'new name', phone = phone || '!';
	ALTER TABLE "My-App"."The Customers" RENAME COLUMN "the name" TO title;
	ALTER TABLE "My-App"."The Customers" RENAME TO customers;
});

my $definitions = q{SELECT tgname, pg_get_triggerdef(oid) FROM pg_trigger WHERE tgname ~ '^extended' ORDER BY tgrelid::regclass::text COLLATE "C", tgname;
	SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid::regclass::text ~ 'orders' ORDER BY indexrelid::regclass::text COLLATE "C"};
my $documents = 'SELECT id, doc FROM s2.orders ORDER BY id';
foreach my $format ('custom', 'plain')
{
	my $dump = $node->basedir . "/shop.$format";
	my $copy = "copy_$format";

	$node->safe_psql('postgres', "CREATE DATABASE $copy");
	$node->command_ok([ 'pg_dump', "--format=$format", '--file', $dump, 'shop' ], "$format: dump");
	$node->command_ok($format eq 'custom' ? [ 'pg_restore', '--exit-on-error', '--dbname', $copy, $dump ]
		: [ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', $dump, $copy ], "$format: restore");
	is($node->safe_psql($copy, $definitions), $node->safe_psql('shop', $definitions), "$format: the same definitions");
	is($node->safe_psql($copy, $documents), $node->safe_psql('shop', $documents), "$format: the same documents, snapshots as they were");
	$node->safe_psql($copy, q{SET search_path = ''; UPDATE "My-App".customers SET phone = 'moved' WHERE id = 3; INSERT INTO s2.orders VALUES (50, '{"customer": {"_id": 3}}')});
	is($node->safe_psql($copy, q{SELECT doc->'customer' FROM s2.orders WHERE id IN (3, 50) ORDER BY id}),
		qq({"_id": 3, "city": "Pune", "name": "name 3", "phone": "moved"}\n{"_id": 3, "city": "Pune", "name": "new name", "phone": "moved"}),
		"$format: it works on");
	is($node->safe_psql($copy, q{SELECT ext.drop_extended_reference('s2.orders', 'doc', '{customer}'), count(*) FROM ext.verify_extended_reference('s2.orders', 'doc', '{customer}')}),
		't|0', "$format: and is found to be dropped");
}

# Many sessions write orders and rename customers, and no copy is left behind.  An
# order that goes to another customer is locked before the customer, so that there
# may be deadlocks, which are tried again.
$node->safe_psql('shop', 'CREATE SEQUENCE numbers START 1000; CREATE TABLE s2.orders_2 PARTITION OF s2.orders FOR VALUES FROM (1000) TO (1000000)');
my %script = (
	order => q{\set c random(1, 10)
INSERT INTO s2.orders VALUES (nextval('numbers'), jsonb_build_object('customer', jsonb_build_object('_id', :c::int)));
},
	rename => q{\set c random(1, 10)
UPDATE "My-App".customers SET phone = md5(random()::text) WHERE id = :c;
},
	repoint => q{\set c random(1, 10)
\set o random(1000, 1100)
UPDATE s2.orders SET doc = jsonb_set(doc, '{customer,_id}', to_jsonb(:c::int)) WHERE id = :o;
});
my @files;
foreach my $name (sort keys %script)
{
	my $file = $node->basedir . "/$name.sql";

	append_to_file($file, $script{$name});
	push @files, '-f', $file;
}
$node->command_checks_all([ 'pgbench', '-n', '-c', '8', '-j', '2', '-t', '150', '--max-tries', '100', @files, 'shop' ], 0,
	[qr/number of transactions actually processed: 1200\/1200/], [qr/^(?!.*error:)/s], 'eight sessions write at once');
is($node->safe_psql('shop', q{SELECT count(*) FROM ext.verify_extended_reference('s2.orders', 'doc', '{customer}')}), '0', 'no copy is left behind');
is($node->safe_psql('shop', q{SELECT count(*) FROM s2.orders o JOIN "My-App".customers c ON c.id = (o.doc #>> '{customer,_id}')::int WHERE o.doc #>> '{customer,phone}' IS DISTINCT FROM c.phone}),
	'0', 'as a join says, too');

$node->stop;
done_testing();
