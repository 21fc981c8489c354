# The demonstration: every answer is right, and one that is not is reported.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(extra => [ '--encoding', 'UTF8', '--locale', 'C' ]);
$node->start;

$node->command_like([ 'demo/run' ], qr/ answers checked in \d+ s: \d+ right, 0 wrong\n/, 'every answer is right');

# demonstrate BLOCKS, EXIT STATUS, OUTPUT, NAME OF THE TEST
sub demonstrate
{
	my ($blocks, $status, $output, $name) = @_;
	my $file = $node->basedir . '/blocks.sql';

	unlink $file;
	append_to_file($file, $blocks);
	$node->command_checks_all([ 'demo/run', $file ], $status, [$output],
		[ $status ? qr/Not as it should be: blocks\.sql/ : qr/^$/ ], $name);
}

my $increase = qq{SELECT '{"a": 1}'::jsonb <~ '{"\$inc": {"a": 1}}';\n};

demonstrate("--# Title\n\n-- Prose.\n$increase--> {\"a\":\n-->   2}\n", 0,
	qr/^Title\n=====\n\nProse\.\n\n    SELECT .*\n\n    => \{"a": 2\}\n.*1 right, 0 wrong/ms, 'a right answer is told');
demonstrate("$increase--> {\"a\": 3}\n", 1,
	qr/=> \{"a": 2\}\n\nThe answer should have been:\n\n    \{"a": 3\}\n.*0 right, 1 wrong/s, 'a wrong answer is told beside the right one');
demonstrate("SELECT 1/0;\n\n$increase--> {\"a\": 2}\n", 1,
	qr/=> ERROR:  division by zero\n.*\(nothing\).*1 right, 1 wrong/s, 'an error that nobody expects is a wrong answer');
demonstrate("SELECT 1/0;\n--> ERROR:  division by zero\n", 0, qr/1 right, 0 wrong/, 'an error may be the right answer');
demonstrate("\\quit\n\n$increase--> {\"a\": 2}\n", 1, qr/the connection ended/, 'an end of the connection is a wrong answer');
demonstrate("SELECT 1 AS a, 2 AS b;\n--|  a | b\n--| ---+---\n--|  1 | 3\n", 1, qr/0 right, 1 wrong/, 'tables are compared');
demonstrate("SELECT 1 AS a, 2 AS b;\n--?\n", 0, qr/1 \|\s+2.*0 right, 0 wrong/s, 'what is only shown does not count');

is($node->safe_psql('postgres', "SELECT count(*) FROM pg_database WHERE datname LIKE 'pattern%'"), '0',
	'the database of a demonstration is gone afterwards');

done_testing();
