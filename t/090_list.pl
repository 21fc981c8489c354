# pattern_list through a dump: the same rows, with the same definitions.  And
# temporary tables of other sessions are in it, too.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(extra => [ '--encoding', 'UTF8', '--locale', 'C' ]);
$node->append_conf('postgresql.conf', 'fsync = off');
$node->start;

# the patterns of the regression test
my ($patterns) = slurp_file('sql/list.sql') =~ /^-- one of each\n(.*?)^\\x on$/ms;
my $list = 'SET search_path = pg_catalog; SELECT * FROM ext.pattern_list';
$node->safe_psql('postgres', "CREATE SCHEMA ext; CREATE EXTENSION pattern SCHEMA ext; CREATE SCHEMA listed; SET search_path = listed, ext; $patterns");
my $rows = $node->safe_psql('postgres', $list);
cmp_ok(scalar(split /\n/, $rows), '>', 20, 'there are patterns');

my $dump = $node->basedir . '/list.dump';
$node->safe_psql('postgres', 'CREATE DATABASE copy');
$node->command_ok([ 'pg_dump', '--format=custom', '--file', $dump, 'postgres' ], 'dump');
$node->command_ok([ 'pg_restore', '--exit-on-error', '--dbname=copy', $dump ], 'restore');
is($node->safe_psql('copy', $list), $rows, 'the same patterns');

my $other = $node->connstr('copy');
is($node->safe_psql('copy', qq{
	CREATE TEMP TABLE passing (id integer PRIMARY KEY, doc jsonb);
	SELECT true FROM ext.create_outlier('passing', 'doc', '{a}', 1);
	\\! psql -XAt -d "$other" -c "SELECT replace(object, 'passing', 'seen') ~ '^table pg_temp_[0-9]+.seen_a\$' FROM ext.pattern_list WHERE relation::text ~ 'passing'"
}), "t\nt", 'another session\'s temporary table');

$node->stop;
done_testing();
