# README.md: its examples run and give the answers that they show, and it names
# all that a user can call.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $readme = slurp_file('README.md');
my @examples = $readme =~ /^```sql\n(.*?)^```$/msg;
my $node = PostgreSQL::Test::Cluster->new('main');

$node->init(extra => [ '--encoding', 'UTF8', '--locale', 'C' ]);
$node->start;

# One after the other in one database, as a reader would try them.
my $file = $node->basedir . '/README.sql';
append_to_file($file, join("\n", @examples));
my $blocks = () = join("\n", @examples) =~ /^(?=.+\n)(?<!.\n)/mg;
$node->command_like([ 'demo/run', $file ], qr/^$blocks answers checked .*: $blocks right, 0 wrong$/m,
	"all $blocks examples give their answers");

# What is called by others only, such as an aggregate's or an operator class's functions, is no user's.
$node->safe_psql('postgres', 'CREATE EXTENSION pattern');
my @names = split /\n/, $node->safe_psql('postgres', q{
	SELECT DISTINCT proname FROM pg_proc JOIN pg_depend ON objid = pg_proc.oid AND classid = 'pg_proc'::regclass
	WHERE deptype = 'e' AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'pattern')
	  AND 'internal'::regtype <> ALL (proargtypes::oid[] || prorettype)
	  AND proname !~ '_operator$|^bucket_table_'
	  AND pg_proc.oid NOT IN (SELECT amproc FROM pg_amproc UNION SELECT typinput FROM pg_type UNION SELECT typoutput FROM pg_type)
	UNION
	SELECT oprname FROM pg_operator JOIN pg_depend ON objid = pg_operator.oid AND classid = 'pg_operator'::regclass
	WHERE deptype = 'e' AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'pattern')
	ORDER BY 1});
cmp_ok(scalar(@names), '>', 10, 'the extension has functions');
foreach my $name (@names)
{
	like($readme, qr/\*\*`(doc |value )?\Q$name\E[( ]/, "README has an entry for $name");
}

# and the other way round: nothing that it calls by our names is missing
my %known = map { $_ => 1 } @names;
my @called = grep { !$known{$_} } $readme =~ /\b((?:attribute|bucket|subset|doc|bson)_[a-z_]+)\(/g;
is("@called", '', 'README calls nothing that does not exist');

done_testing();
