# What a regression test cannot show of attribute indexes: dump and restore, a
# standby, databases of other encodings.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(allows_streaming => 1, extra => [ '--encoding', 'UTF8', '--locale', 'C' ]);
$node->append_conf('postgresql.conf', 'fsync = off');
$node->start;

$node->safe_psql('postgres', 'CREATE DATABASE shop');
$node->safe_psql('shop', q{
	CREATE SCHEMA ext;
	CREATE EXTENSION pattern SCHEMA ext;
	CREATE TABLE products (id int, doc jsonb);
	INSERT INTO products SELECT g, jsonb_build_object('the specs', jsonb_build_array(jsonb_build_object('name', 'size', 'is', g % 1000), jsonb_build_object('name', 'serial', 'is', 'S' || g))) FROM generate_series(1, 20000) g;
	SELECT ext.create_attribute_index('products', 'doc', '{the specs}', key_name => 'name', value_name => 'is', index_name => 'products_specs');
	ANALYZE products;
});
my $query = q{SELECT count(*), sum(id) FROM products WHERE doc OPERATOR(ext.@~) '{"the specs": {"$elemMatch": {"name": "size", "is": {"$gte": 990}}}}'};
my $rows = '200|2098900';
is($node->safe_psql('shop', $query), $rows, 'a range');
my $plan = "EXPLAIN $query";
like($node->safe_psql('shop', $plan), qr/Bitmap Heap Scan on products .* rows=(19\d|20\d) .*products_specs/s, 'by the index, and as many rows as there are');

# The index finds its statistics: the wide range's rows are not collected, the one with the serial is looked at.
my $conjunction = q{EXPLAIN (ANALYZE, TIMING OFF) SELECT FROM products WHERE doc OPERATOR(ext.@~) '{"the specs": {"$all": [{"$elemMatch": {"name": "serial", "is": "S5"}}, {"$elemMatch": {"name": "size", "is": {"$gte": 10}}}]}}'};
my $looked = qr/Bitmap Heap Scan on products .*\(actual rows=0.*Rows Removed by Index Recheck: 1\n/s;
like($node->safe_psql('shop', $conjunction), $looked, 'an equality and a wide range');

# An ordinary index and ordinary statistics: everything comes back from a dump.
my $dump = $node->basedir . '/shop.dump';
$node->safe_psql('postgres', 'CREATE DATABASE copy');
$node->command_ok([ 'pg_dump', '--format=custom', '--file', $dump, 'shop' ], 'dump');
$node->command_ok([ 'pg_restore', '--exit-on-error', '--dbname=copy', $dump ], 'restore');
my $objects = q{SELECT pg_get_indexdef('products_specs'::regclass), string_agg(pg_get_statisticsobjdef(oid), ';') FROM pg_statistic_ext};
is($node->safe_psql('copy', $objects), $node->safe_psql('shop', $objects), 'the index with its options, and the statistics');
$node->safe_psql('copy', 'ANALYZE products');
is($node->safe_psql('copy', $query), $rows, 'the same rows');
like($node->safe_psql('copy', $plan), qr/Bitmap Heap Scan on products .* rows=(19\d|20\d) .*products_specs/s, 'in the same way');
like($node->safe_psql('copy', $conjunction), $looked, 'with the statistics');
is($node->safe_psql('copy', q{SELECT ext.drop_attribute_index('products', 'doc', '{the specs}'), count(*) FROM pg_statistic_ext}), 't|1', 'and found again to be dropped');

# On a standby, with entries that are still pending.
$node->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'backup', has_streaming => 1);
$standby->start;
$node->safe_psql('shop', q{INSERT INTO products SELECT g, jsonb_build_object('the specs', jsonb_build_array(jsonb_build_object('name', 'size', 'is', 995))) FROM generate_series(1, 10) g});
$node->wait_for_catchup($standby);
is($standby->safe_psql('shop', $query), '210|2098955', 'the standby has the new rows');
like($standby->safe_psql('shop', $plan), qr/products_specs/, 'by the index');
like($standby->safe_psql('shop', $conjunction), $looked, 'with the statistics');
$standby->stop;

# In each encoding the index answers as a scan does, strings' order included:
# @~ compares bytes, jsonpath code points.
for my $encoding (qw(UTF8 LATIN1 LATIN2 WIN1252 EUC_JP SQL_ASCII)) {
	my $strings = $encoding eq 'EUC_JP' ? q{'あ', 'ア', '漢', '字', 'a', 'aア', 'ｱ'}
		: $encoding eq 'LATIN2' ? q{'a', 'ą', 'ž', 'ő', 'Ł', 'é', 'aé'}
		: $encoding eq 'WIN1252' ? q{'a', '€', 'Ÿ', 'é', 'ÿ', 'a€', '™'}
		: q{'a', 'ä', 'é', 'ÿ', 'z', 'aé', 'À'};
	$node->safe_psql('postgres', "CREATE DATABASE \"$encoding\" ENCODING '$encoding' LOCALE 'C' TEMPLATE template0");
	my $answer = $node->safe_psql($encoding, qq{
		SET client_encoding = 'UTF8';
		SET client_min_messages = warning;
		CREATE EXTENSION pattern;
		CREATE TABLE word (id int, specs jsonb);
		INSERT INTO word SELECT row_number() OVER (), jsonb_build_array(jsonb_build_object('k', 'é', 'v', a || b)) FROM unnest(ARRAY[$strings]) a, unnest(ARRAY['', $strings]) b;
		INSERT INTO word SELECT -id, jsonb_build_array(jsonb_build_object('k', 'é', 'v', jsonb_build_array(specs #> '{0,v}', 'x'))) FROM word;
		CREATE INDEX ON word USING gin (specs jsonb_attribute_ops);
		CREATE FUNCTION found(condition text, by_index boolean, OUT ids int[]) LANGUAGE plpgsql AS \$\$
		BEGIN
			PERFORM set_config('enable_seqscan', (NOT by_index)::text, true), set_config('enable_bitmapscan', by_index::text, true);
			EXECUTE 'SELECT array_agg(id ORDER BY id) FROM word WHERE ' || condition INTO ids;
		END \$\$;
		SELECT count(*) > 100, count(*) FILTER (WHERE found(c, true) IS DISTINCT FROM found(c, false)), sum(cardinality(found(c, true))) > 1000
		FROM (SELECT format('specs \@~ %L', jsonb_build_object('\$elemMatch', jsonb_build_object('k', 'é', 'v', CASE WHEN o = '\$regex' THEN jsonb_build_object(o, '^' || s) ELSE jsonb_build_object(o, s) END))) AS c
			FROM unnest('{\$eq,\$gt,\$gte,\$lt,\$lte,\$ne,\$regex}'::text[]) o, unnest(ARRAY['', $strings, 'aa']) s
			UNION ALL
			SELECT format('specs \@? %L', format('\$[*] ? (\@.k == "é" && \@.v %s %s)', o, to_jsonb(s)))
			FROM unnest('{==,>,>=,<,<=,!=,starts with}'::text[]) o, unnest(ARRAY['', $strings, 'aa']) s) c;
	});
	is($answer, 't|0|t', "strings in $encoding");
}

$node->stop;
done_testing();
