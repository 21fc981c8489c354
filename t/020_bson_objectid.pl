# Two processes never make the same ObjectId: neither sessions forked one right
# after the other, nor parallel workers, nor with the library already loaded in
# the process that they are forked from.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('objectid');
$node->init;
$node->append_conf('postgresql.conf', q{
shared_preload_libraries = 'pattern'
parallel_setup_cost = 0
parallel_tuple_cost = 0
min_parallel_table_scan_size = 0
});
$node->start;
$node->safe_psql('postgres', q{
	CREATE EXTENSION pattern;
	CREATE TABLE made (pid integer DEFAULT pg_backend_pid(), started timestamptz, id text)});

my $count = q{
	SELECT count(*), count(DISTINCT id), count(DISTINCT (pid, started)) > 1,
		count(DISTINCT substr(id, 9, 10)) = count(DISTINCT (pid, started))
	FROM made};
my $script = $node->basedir . '/make_ids.sql';

append_to_file($script, q{
	INSERT INTO made(started, id) SELECT a.backend_start, bson_objectid()
	FROM pg_stat_get_activity(pg_backend_pid()) a, generate_series(1, 100);
});

$node->pgbench('--no-vacuum --client=20 --jobs=2 --transactions=50', 0, [qr{processed: 1000/1000}], [qr{^}],
	'sessions at the same time', undef, "--file=$script");
is($node->safe_psql('postgres', $count), '100000|100000|t|t', 'as many random parts as sessions, each id once');

$node->safe_psql('postgres', 'TRUNCATE made');
$node->pgbench('--no-vacuum --connect --client=10 --jobs=2 --transactions=30', 0, [qr{processed: 300/300}], [qr{^}],
	'many short sessions', undef, "--file=$script");
is($node->safe_psql('postgres', $count), '30000|30000|t|t', 'as many random parts as short sessions, each id once');

# The rows are on many pages, so that workers and the leader share them.
my $parallel = 'SELECT bson_objectid() FROM made';

like($node->safe_psql('postgres', "EXPLAIN (COSTS OFF) $parallel"), qr/Gather/, 'ids are made in parallel workers');
is($node->safe_psql('postgres', "SELECT count(*), count(DISTINCT id) FROM ($parallel) AS made(id)"),
	'30000|30000', 'each id of parallel workers once');

$node->stop;
done_testing();
