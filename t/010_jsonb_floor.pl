# The jsonb floor against core: fuzzers with core as the oracle, exact cases with
# SQL as the oracle, and the limits of the format.
#
# PATTERN_FUZZ_SEED starts elsewhere, PATTERN_FUZZ_ITERATIONS multiplies the
# iterations, and PATTERN_FUZZ_LIMITS=1 adds what takes a gigabyte of memory.
use strict;
use warnings;

use Cwd qw(abs_path);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $seed = $ENV{PATTERN_FUZZ_SEED} // 1;
my $times = $ENV{PATTERN_FUZZ_ITERATIONS} // 1;

my $node = PostgreSQL::Test::Cluster->new('floor');
$node->init(extra => [ '--encoding=UTF8', '--no-locale' ]);
$node->start;

# Built beside the cluster: the sources may be on ground that is not ours.
my $directory = $node->basedir . '/fuzz';
my $library = "$directory/pattern_fuzz.so";
my $makefile = abs_path('fuzz/Makefile');
my $pg_config = $ENV{PG_CONFIG} // 'pg_config';

mkdir $directory or die "$directory: $!";
{
	local %ENV = %ENV;
	delete @ENV{qw(MAKEFLAGS MAKELEVEL MFLAGS)};
	system_or_bail('make', '-s', '-C', $directory, '-f', $makefile, "PG_CONFIG=$pg_config");
}

my @fuzzers = (
	[ fuzz_read => 20000 ],
	[ fuzz_write => 20000 ],
	[ fuzz_tree => 20000 ],
	[ fuzz_put => 20000 ],
	[ fuzz_path => 20000 ],
	[ fuzz_compare => 20000 ],
	[ fuzz_sort => 5000 ],
	[ fuzz_set => 2000 ],
	[ fuzz_names => 2000 ],
	[ fuzz_bson => 5000 ]);
my @functions = (
	'floor_sort(elements jsonb, order_by text) RETURNS jsonb',
	'floor_put(doc jsonb, path text[], value jsonb) RETURNS jsonb',
	'floor_get(doc jsonb, path text[]) RETURNS jsonb',
	'floor_parse(path text, quoted boolean) RETURNS text[]',
	'floor_number(n numeric) RETURNS bigint',
	'floor_nest(levels integer) RETURNS integer',
	'floor_size(way text, bytes integer) RETURNS integer',
	'floor_count(way text, n bigint) RETURNS bigint',
	map { "$_->[0](seed bigint, iterations integer) RETURNS bigint" } @fuzzers);

$node->safe_psql('postgres', "CREATE FUNCTION $_ LANGUAGE C STRICT AS '$library'")
  foreach @functions;

foreach my $fuzzer (@fuzzers)
{
	my ($name, $iterations) = @$fuzzer;
	my ($status, $checks, $complaint) =
	  $node->psql('postgres', "SELECT $name($seed, " . int($iterations * $times) . ")");

	ok($status == 0 && $checks >= $iterations * $times, "$name from seed $seed on")
	  or diag("$complaint\nRepeat it with SELECT $name(<that seed>, 1)");
}

sub answers
{
	my ($query, $expected, $name) = @_;

	is($node->safe_psql('postgres', $query), $expected, $name);
}

sub refuses
{
	my ($query, $sqlstate, $name) = @_;
	my ($status, $output, $complaint) =
	  $node->psql('postgres', "\\set VERBOSITY sqlstate\n$query");

	like($complaint, qr/ERROR:  $sqlstate$/, $name);
}

# Sorting, against ORDER BY: by type, number, bytes, truth, and then the place.
answers(q{
	WITH input AS MATERIALIZED (
		SELECT jsonb_agg(jsonb_build_object('i', i) || CASE WHEN i % 7 > 0 THEN jsonb_build_object('k',
				CASE i % 6
					WHEN 0 THEN to_jsonb(round((hashint4(i) % 50)::numeric / 4, i % 4))
					WHEN 1 THEN to_jsonb(chr(97 + i % 5) || repeat(chr(100 + 1000 * (i % 4)), i / 6 % 3))
					WHEN 2 THEN to_jsonb(i % 4 = 0)
					WHEN 3 THEN 'null'
					WHEN 4 THEN to_jsonb(hashint4(i) % 10)
					ELSE '"z"' END) ELSE '{}' END ORDER BY i) AS elements
		FROM generate_series(1, 5000) i),
	ranked AS (
		SELECT element, place,
			array_position('{"null",number,string,object,array,boolean}', coalesce(jsonb_typeof(element->'k'), 'null')) AS rank,
			CASE WHEN jsonb_typeof(element->'k') = 'number' THEN (element->>'k')::numeric END AS number,
			CASE WHEN jsonb_typeof(element->'k') = 'string' THEN element->>'k' END COLLATE "C" AS string,
			CASE WHEN jsonb_typeof(element->'k') = 'boolean' THEN (element->>'k')::boolean END AS truth
		FROM input, jsonb_array_elements(elements) WITH ORDINALITY AS e(element, place))
	SELECT floor_sort(elements, 'k') =
			(SELECT jsonb_agg(element ORDER BY rank, number, string, truth, place) FROM ranked),
		floor_sort(elements, 'k desc') =
			(SELECT jsonb_agg(element ORDER BY rank DESC, number DESC, string DESC, truth DESC, place) FROM ranked),
		floor_sort(elements, ' ') = elements
	FROM input}, 't|t|t', 'values_sort sorts as ORDER BY does');
answers(q{SELECT floor_sort('[{"a.b": 2, "a": {"b": 1}}, {"a.b": 1, "a": {"b": 2}}]', o)->0->'a.b'
	FROM unnest(ARRAY['a.b', '"a.b"', 'a."b" DESC', E'\t"a"."b"\nasc ']) o}, "2\n1\n1\n2", 'quoted names in an order');
refuses("SELECT floor_sort('[]', '$_->[0]')", $_->[1], "order '$_->[0]' is refused")
  foreach [ 'a down', '22023' ], [ 'a desc asc', '22023' ], [ 'a,', '22023' ], [ ',a', '22023' ],
  [ 'a,,b', '22023' ], [ 'a..b', '22P02' ], [ '.a', '22P02' ], [ 'a.', '22P02' ], [ '"a', '22P02' ],
  [ '"a"b', '22P02' ], [ '""', '22P02' ];

# Paths
answers(q{SELECT floor_parse(p, true), floor_parse(p, false) FROM unnest(ARRAY['a', 'a.b', '"a.b".c', '"a""b"']) p},
	qq({a}|{a}\n{a,b}|{a,b}\n{a.b,c}|{"\\"a","b\\"",c}\n{"a\\"b"}|{"\\"a\\"\\"b\\""}), 'path_parse');
answers(q{
	SELECT count(*), bool_and(floor_get(doc, path) IS NOT DISTINCT FROM doc #> path)
	FROM (VALUES (jsonb '{"a": [10, {"b": null, "": 1}], "0": {"1": 2}, "é": "x"}'), ('[[1, 2], {"0": 3}]'), ('"s"'), ('[]')) d(doc),
		(VALUES ('{}'::text[]), ('{a}'), ('{a,0}'), ('{a,1,b}'), ('{a,1,""}'), ('{a,2}'), ('{0}'), ('{0,1}'), ('{é}'),
			('{1,0}'), ('{a,x}'), ('{a,1,b,c}'), ('{0,99999999999}')) p(path)}, '52|t', 'path_get agrees with #>');
answers(q{
	SELECT count(*), bool_and(floor_put(doc, path, '{"n": [1]}') = jsonb_set(doc, path, '{"n": [1]}'))
	FROM (VALUES (jsonb '{"a": [10, {"b": null, "": 1}], "0": {"1": 2}, "é": "x"}')) d(doc),
		(VALUES ('{a}'::text[]), ('{a,0}'), ('{a,1,b}'), ('{a,1,""}'), ('{a,1,new}'), ('{0}'), ('{0,1}'), ('{0,2}'), ('{é}'),
			('{z}'), ('{a,2}')) p(path)}, '11|t', 'path_put agrees with jsonb_set');
answers(q{SELECT floor_put('{}', '{a,b,0}', '1'), floor_put('[]', '{2}', '1'), floor_put('[[1]]', '{0,2,x}', '"y"')},
	'{"a": {"b": {"0": 1}}}|[null, null, 1]|[[1, null, {"x": "y"}]]', 'path_put makes what is missing');
answers(q{SELECT jsonb_array_length(floor_put('[]', '{1500000}', '1'))}, '1500001', 'as many nulls as are allowed');
refuses("SELECT floor_put('$_->[0]', '$_->[1]', '1')", $_->[2], "path $_->[1] into $_->[0] is refused")
  foreach [ '{"a": 1}', '{a,b}', '22023' ], [ '{"a": null}', '{a,b}', '22023' ], [ '[1]', '{a}', '22023' ],
  [ '{"a": ["x"]}', '{a,0,b}', '22023' ], [ '{"a": [[]]}', '{a,0,-1}', '22023' ], [ '{}', '{a,NULL}', '22004' ],
  [ '[]', '{1500001}', '2202E' ], [ '[]', '{2147483647}', '2202E' ], [ '[1]', '{2147483648}', '22023' ];

# Numbers that are bigints, and others
answers(q{
	SELECT string_agg(coalesce(floor_number(n)::text, '-'), ' ' ORDER BY i)
	FROM unnest('{0,-0.00,1.0,1.5,9223372036854775807,9223372036854775807.000,9223372036854775808,
		-9223372036854775808,-9223372036854775809,-9223372036854775808.5,1e30,-1e-30}'::numeric[]) WITH ORDINALITY u(n, i)},
	'0 0 1 - 9223372036854775807 9223372036854775807 - -9223372036854775808 - - - -', 'number_to_int64');

# Limits
answers(q{SELECT floor_count('array', 33554431)}, '33554431', 'as many elements as core allows');
refuses(q{SELECT floor_count('array', 33554432)}, '54000', 'more elements than core allows');
refuses(q{SELECT floor_count('object', 14913081)}, '54000', 'more pairs than core allows');
refuses(q{SELECT floor_nest(1000000)}, '54001', 'a tree that is too deep');
refuses(q{SELECT floor_put('{}', array_fill('a'::text, '{1000000}'), '1')}, '54001', 'a path that is too long');
if ($ENV{PATTERN_FUZZ_LIMITS})
{
	# the two entries, the container's header and the document's
	my $largest = 268435455;

	foreach my $way ('tree', 'append', 'prepend')
	{
		answers("SELECT floor_size('$way', $largest) - $largest", '16', "$way: the largest document");
		refuses("SELECT floor_size('$way', $largest + 1)", '54000', "$way: one byte more");
	}
}

$node->stop;
done_testing();
