# BSON in files: streams, compressed ones, what is wrong with them, loading,
# rights, progress, cancelling, memory; other encodings; a lack of memory inside
# libbson; another library that brings functions of libbson's names.
use strict;
use warnings;

use IO::Compress::Gzip qw(gzip $GzipError);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(extra => [ '--encoding', 'UTF8', '--locale', 'C' ]);
$node->append_conf('postgresql.conf', "fsync = off\nshared_buffers = 32MB\nautovacuum = off");
$node->start;
$node->safe_psql('postgres', 'CREATE SCHEMA ext; CREATE EXTENSION pattern SCHEMA ext');
$node->append_conf('postgresql.conf', q{search_path = 'public, ext'});
$node->reload;

my $files = $node->basedir;

sub write_file
{
	my ($name, $bytes) = @_;

	open my $file, '>:raw', "$files/$name" or die "$files/$name: $!";
	print $file $bytes;
	close $file;
}

# Documents, element by element
sub doc { my $elements = join '', @_; return pack('V', length($elements) + 5) . $elements . "\0"; }
sub int32 { my ($key, $i) = @_; return "\x10$key\0" . pack('l<', $i); }
sub string { my ($key, $s) = @_; return "\x02$key\0" . pack('V', length($s) + 1) . "$s\0"; }

sub answers
{
	my ($query, $expected, $name) = @_;

	is($node->safe_psql('postgres', $query), $expected, $name);
}

# Leaves out what psql writes before the message, and the context.
sub complains
{
	my ($query, $expected, $name) = @_;
	my ($status, $output, $complaint) = $node->psql('postgres', "\\set VERBOSITY verbose\n\\set SHOW_CONTEXT never\n$query");

	$complaint =~ s/^.*?(ERROR|WARNING|NOTICE):/$1:/mg;
	$complaint =~ s/\n(SCHEMA NAME|DATATYPE NAME|CONSTRAINT NAME|LOCATION): .*//g;
	$complaint =~ s/\Q$files\E/FILES/g;
	is($complaint, $expected, $name);
}

my $good = doc(int32('n', 1)) . doc(string('s', 'x' x 300000)) . doc(int32('n', 3));
write_file('good.bson', $good);
write_file('empty.bson', '');

answers("SELECT byte_offset, left(doc::text, 12), error FROM bson_file('$files/good.bson')",
	"0|{\"n\": 1}|\n12|{\"s\": \"xxxxx|\n300025|{\"n\": 3}|", 'documents and their places');
answers("SELECT (bson_file('$files/good.bson', 'canonical')).doc->'n' LIMIT 1", '{"$numberInt": "1"}', 'a stream that is not read to its end');
answers("SELECT count(*) FROM bson_file('$files/empty.bson')", 0, 'no documents');
answers('SELECT count(*) FROM bson_file(NULL)', 0, 'no file');
answers("SELECT count(*), sum((doc->'n')::int) FROM generate_series(1, 300) g, LATERAL (SELECT (bson_file('$files/good.bson')).* OFFSET g * 0) f", '900|1200', 'the same file many times');
answers("SELECT count(*) FROM (SELECT bson_file('$files/good.bson'), bson_file('$files/empty.bson'), bson_file('$files/good.bson')) f", 3, 'several at once');

# a cursor outlives the subtransaction in which it was read first
is($node->safe_psql('postgres', qq{
	BEGIN;
	DECLARE c CURSOR FOR SELECT (bson_file('$files/good.bson')).byte_offset;
	SAVEPOINT s;
	FETCH c;
	ROLLBACK TO s;
	FETCH c;
	SAVEPOINT s;
	FETCH c;
	RELEASE s;
	FETCH c;
	COMMIT}), "0\n12\n300025", 'a cursor');
answers(q{SELECT count(*) FROM pg_stat_progress_copy}, 0, 'no progress is left');

# What is wrong
complains("SELECT bson_file('$files/none.bson')", 'ERROR:  58P01: could not open file "FILES/none.bson" for reading: No such file or directory', 'no such file');
complains("SELECT bson_file('$files')", 'ERROR:  42809: "FILES" is not a regular file', 'a directory');
system_or_bail('mkfifo', "$files/pipe");
complains("SELECT bson_file('$files/pipe')", 'ERROR:  42809: "FILES/pipe" is not a regular file', 'a pipe that nobody writes to');
complains("SELECT bson_file('$files/good.bson', on_error => 'skip')", qq{ERROR:  22023: argument "on_error" must be "error" or "report"\nDETAIL:  The value is of type string: "skip".}, 'an unknown option');
complains(q{SELECT ext.load_bson_rows()}, 'ERROR:  0A000: function of load_bson cannot be called by itself', 'the rows of no load');

my $deep;
{
	# written down from the outside to the inside
	my $levels = 100000;

	$deep = join('', map { pack('V', 8 * ($levels - $_) + 5) . "\x03a\0" } 0 .. $levels - 1) . pack('V', 5) . "\0" x ($levels + 1);
}
my @documents = (
	doc(int32('n', 1)),
	doc(int32('n', 2), string('a', "\xff\xfe")),
	doc("\x03a\0" . doc("\x04b\0" . doc(string('0', 'x'), string('1', "y\0z")))),
	doc(int32('n', 4), int32('n', 5)),
	doc("\x14n\0"),
	$deep,
	doc(int32('n', 7)));
my @offsets = (0);
push @offsets, $offsets[-1] + length($_) foreach @documents;
write_file('bad.bson', join('', @documents) . pack('V', 3) . 'and more');
write_file('cut.bson', substr($good, 0, -1));
answers(qq{SELECT byte_offset, left(doc::text, 20), error FROM bson_file('$files/bad.bson', on_error => 'report')}, join("\n",
	'0|{"n": 1}|',
	"$offsets[1]||invalid BSON in document 2 at \"a\", byte " . ($offsets[1] + 18) . ': text is not UTF-8',
	"$offsets[2]||jsonb cannot hold the NUL character in document 3 at \"a.b.1\", byte " . ($offsets[2] + 35),
	"$offsets[3]||field comes twice in document 4 at \"n\", byte " . ($offsets[3] + 12),
	"$offsets[4]||invalid BSON in document 5, byte " . ($offsets[4] + 7) . ': element of an unknown type or a wrong length',
	"$offsets[5]||stack depth limit exceeded",
	"$offsets[6]|{\"n\": 7}|",
	"$offsets[7]||document 8 has a wrong length, byte $offsets[7]: A document has from 5 to 268435455 bytes, not 3."), 'bad documents are reported and skipped');
answers(qq{SELECT byte_offset, doc IS NULL, error FROM bson_file('$files/cut.bson', on_error => 'report')},
	"0|f|\n12|f|\n300025|t|document 3 is incomplete, byte 300025: It needs 12 bytes, and 11 are left.", 'a cut file');
answers(qq{SELECT count(doc), count(error) FROM bson_file('$files/bad.bson', 'plain', 'report', 'last', 'strip')}, '4|4', 'some of them are allowed by options');
complains("SELECT count(*) FROM (SELECT bson_file('$files/bad.bson')) f", 'ERROR:  22P03: invalid BSON in document 2 at "a", byte ' . ($offsets[1] + 18) . ': text is not UTF-8', 'or the first is an error');
complains("SELECT count(*) FROM (SELECT bson_file('$files/cut.bson')) f", "ERROR:  22P03: document 3 is incomplete, byte 300025\nDETAIL:  It needs 12 bytes, and 11 are left.", 'and so is a cut file');
write_file('long.bson', doc(int32('n', 1)) . pack('V', 200000000) . 'x' x 100);
answers(qq{SELECT byte_offset, error FROM bson_file('$files/long.bson', on_error => 'report') WHERE error IS NOT NULL},
	'12|document 2 is incomplete, byte 12: It needs 200000000 bytes, and 104 are left.', 'a long length is believed only as far as there are bytes');

# Compressed
sub compressed { my ($bytes, @options) = @_; my $result; gzip(\$bytes => \$result, @options) or die $GzipError; return $result; }
my $rows = "SELECT count(doc), max(byte_offset), string_agg(error, '; ') FROM bson_file('$files/FILE', on_error => 'report')";
foreach my $case (
	[ 'one member', compressed($good), '3|300025|' ],
	[ 'with a name and a comment', compressed($good, Name => 'good.bson', Comment => 'c'), '3|300025|' ],
	[ 'stored', compressed($good, Level => 0), '3|300025|' ],
	[ 'several members', compressed(substr($good, 0, 5)) . compressed('') . compressed(substr($good, 5, 250000)) . compressed(substr($good, 250005)), '3|300025|' ],
	[ 'zeros behind', compressed($good) . "\0" x 1000, '3|300025|' ],
	[ 'empty', compressed(''), '0||' ],
	[ 'no bytes', '', '0||' ],
	[ 'cut', substr(compressed($good), 0, -9), qr/^3\|300037\|invalid gzip data in file .* before byte \d+: it is cut off$/ ],
	[ 'cut in the middle', substr(compressed($good), 0, 100), qr/^1\|12\|invalid gzip data in file .* before byte 100: it is cut off$/ ],
	[ 'damaged checksum', do { my $c = compressed($good); substr($c, -8, 1) ^= "\1"; $c }, qr/^3\|300037\|invalid gzip data in file .*: incorrect data check$/ ],
	[ 'not compressed', $good, qr/^0\|0\|invalid gzip data in file .*: incorrect header check$/ ],
	[ 'garbage behind', compressed($good) . 'garbage', qr/^3\|300037\|invalid gzip data in file .*: incorrect header check$/ ])
{
	my ($name, $bytes, $expected) = @$case;
	my $query = $rows;

	write_file('file.bson.gz', $bytes);
	$query =~ s/FILE/file.bson.gz/;
	my $answer = $node->safe_psql('postgres', $query);
	ref $expected ? like($answer, $expected, "gzip, $name") : is($answer, $expected, "gzip, $name");
}
write_file('renamed.bson', "\x1f\x8b\x08\x10\x00\x00\x00\x80" . "x" x 100);
complains("SELECT bson_file('$files/renamed.bson')", "ERROR:  22P03: document 1 has a wrong length, byte 0\nDETAIL:  A document has from 5 to 268435455 bytes, not 268995359.\n" .
	'HINT:  It looks like a file that gzip compressed; the name of such a file must end with ".gz".', 'a compressed file whose name does not say so');

# Loading
$node->safe_psql('postgres', q{
	CREATE DOMAIN document AS jsonb CHECK (VALUE <> '{"n": 13}');
	CREATE TABLE goods (
		id int GENERATED ALWAYS AS IDENTITY, "the doc" document NOT NULL, n int GENERATED ALWAYS AS (("the doc"->>'n')::int) STORED, at text DEFAULT 'now'
	) PARTITION BY RANGE (id);
	CREATE TABLE goods_1 PARTITION OF goods FOR VALUES FROM (1) TO (3);
	CREATE TABLE goods_2 PARTITION OF goods DEFAULT;
	CREATE TABLE fired (what text, rows bigint, relation text, total bigint);
	CREATE FUNCTION fire() RETURNS trigger LANGUAGE plpgsql AS $$
	BEGIN
		IF TG_LEVEL = 'ROW' THEN
			INSERT INTO fired SELECT TG_WHEN || ' row', NULL, relid::regclass, bytes_total FROM pg_stat_progress_copy WHERE pid = pg_backend_pid();
			RETURN NEW;
		END IF;
		INSERT INTO fired SELECT TG_WHEN || ' statement', CASE TG_WHEN WHEN 'AFTER' THEN (SELECT count(*) FROM load_bson) END;
		RETURN NULL;
	END $$;
	CREATE FUNCTION fire_before() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO fired VALUES ('BEFORE statement'); RETURN NULL; END $$;
	CREATE TRIGGER a BEFORE INSERT ON goods FOR EACH STATEMENT EXECUTE FUNCTION fire_before();
	CREATE TRIGGER b BEFORE INSERT ON goods FOR EACH ROW EXECUTE FUNCTION fire();
	CREATE TRIGGER c AFTER INSERT ON goods REFERENCING NEW TABLE AS load_bson FOR EACH STATEMENT EXECUTE FUNCTION fire();
});
write_file('goods.bson', join '', map { doc(int32('n', $_)) } 1 .. 5);
answers("SELECT load_bson('goods', 'the doc', '$files/goods.bson')", 5, 'load');
answers('SELECT tableoid::regclass, * FROM goods ORDER BY id', join("\n", map { 'goods_' . ($_ < 3 ? 1 : 2) . "|$_|{\"n\": $_}|$_|now" } 1 .. 5), 'defaults, generated columns, partitions');
answers('SELECT what, rows, relation, total, count(*) FROM fired GROUP BY 1, 2, 3, 4 ORDER BY 1', "AFTER statement|5|||1\nBEFORE row||goods|60|5\nBEFORE statement||||1", 'triggers as for one INSERT; progress');
write_file('unlucky.bson', join '', map { doc(int32('n', $_)) } 12 .. 14);
complains("SELECT load_bson('goods', 'the doc', '$files/unlucky.bson')", 'ERROR:  23514: value for domain document violates check constraint "document_check"', 'a constraint');
$node->safe_psql('postgres', 'CREATE TABLE plain (doc jsonb, t text)');
complains("SELECT load_bson('plain', 'doc', '$files/bad.bson', on_error => 'report')", join("\n",
	'WARNING:  22P03: document skipped: invalid BSON in document 2 at "a", byte ' . ($offsets[1] + 18) . ': text is not UTF-8',
	'WARNING:  22P03: document skipped: jsonb cannot hold the NUL character in document 3 at "a.b.1", byte ' . ($offsets[2] + 35),
	'WARNING:  22P03: document skipped: field comes twice in document 4 at "n", byte ' . ($offsets[3] + 12),
	'WARNING:  22P03: document skipped: invalid BSON in document 5, byte ' . ($offsets[4] + 7) . ': element of an unknown type or a wrong length',
	'WARNING:  22P03: document skipped: stack depth limit exceeded',
	"WARNING:  22P03: document skipped: document 8 has a wrong length, byte $offsets[7]: A document has from 5 to 268435455 bytes, not 3.",
	'NOTICE:  00000: 6 documents skipped'), 'bad documents are named and skipped');
answers('SELECT doc FROM plain', "{\"n\": 1}\n{\"n\": 7}", 'and the others loaded');
write_file('many.bson', join('', map { doc(int32('n', 1), int32('n', 1)) } 1 .. 1000) . doc());
my ($status, $output, $complaint) = $node->psql('postgres', "SELECT load_bson('plain', 'doc', '$files/many.bson', on_error => 'report')");
is(join(' ', $output, scalar(() = $complaint =~ /WARNING/g), $complaint =~ /(NOTICE.*)/), '1 100 NOTICE:  1000 documents skipped', 'not too many warnings');
foreach my $case (
	[ "NULL, 'doc', 'f'", '22004: argument "relation" must not be null' ],
	[ "'plain', NULL, 'f'", '22004: argument "column_name" must not be null' ],
	[ "'plain', 'doc', NULL", '22004: argument "filename" must not be null' ],
	[ "4294967295::oid::regclass, 'doc', 'f'", '42P01: relation with OID 4294967295 does not exist' ],
	[ "'plain', 'none', 'f'", '42703: column "none" of relation "plain" does not exist' ],
	[ "'plain', 't', 'f'", "42804: column \"t\" of relation \"plain\" is of type text\nDETAIL:  The type must be jsonb." ],
	[ "'plain', 'doc', '$files/none.bson'", '58P01: could not open file "FILES/none.bson" for reading: No such file or directory' ])
{
	complains("SELECT load_bson($case->[0])", "ERROR:  $case->[1]", "load_bson($case->[0])");
}

# Rights
$node->safe_psql('postgres', q{
	CREATE ROLE guest; CREATE ROLE reader IN ROLE pg_read_server_files;
	GRANT USAGE ON SCHEMA ext TO guest, reader; GRANT INSERT ON plain TO guest;
	CREATE TABLE guarded (doc jsonb); ALTER TABLE guarded ENABLE ROW LEVEL SECURITY;
	CREATE POLICY small ON guarded FOR INSERT WITH CHECK ((doc->>'n')::int < 3);
	GRANT INSERT ON guarded TO reader});
my $denied = "ERROR:  42501: permission denied to read a file of the server\nDETAIL:  Only roles with privileges of the \"pg_read_server_files\" role may do so.\nHINT:  bson_documents reads what a client sends.";
complains("SET ROLE guest; SELECT bson_file('$files/good.bson')", $denied, 'no right to read files');
complains("SET ROLE guest; SELECT bson_file('$files/none.bson')", $denied, 'nor to know which there are');
complains("SET ROLE guest; SELECT load_bson('plain', 'doc', '$files/good.bson')", $denied, 'nor to load them');
answers("SET ROLE reader; SELECT count(*) FROM bson_file('$files/good.bson')", 3, 'the right to read files');
complains("SET ROLE reader; SELECT load_bson('plain', 'doc', '$files/good.bson')", 'ERROR:  42501: permission denied for table plain', 'it is not the right to insert');
complains("SET ROLE reader; SELECT load_bson('guarded', 'doc', '$files/goods.bson')", 'ERROR:  42501: new row violates row-level security policy for table "guarded"', 'row security');
answers("SET ROLE guest; SELECT count(*) FROM bson_documents('\\x" . unpack('H*', $good) . "')", 3, 'anybody may send documents');
complains("BEGIN READ ONLY; SELECT load_bson('plain', 'doc', '$files/good.bson')", 'ERROR:  25006: cannot execute INSERT in a read-only transaction', 'a read-only transaction');

# A large file, and long ones that are small
{
	my $document = doc(int32('n', 1), string('s', 'abcdefgh' x 100), "\x04a\0" . doc(map { int32($_, $_) } 0 .. 20));
	my $z = IO::Compress::Gzip->new("$files/large.bson.gz", Level => 1) or die $GzipError;
	my $chunk = $document x 1000;
	my $chunks = int(200_000_000 / length($chunk));

	$z->print($chunk) for 1 .. $chunks;
	$z->close;
	my $before = "split_part(split_part(pg_read_file('/proc/self/status'), 'VmHWM:', 2), 'kB', 1)::int AS";
	SKIP:
	{
		skip 'no /proc', 2 unless -e '/proc/self/status';
		answers("SELECT $before a \\gset\nSELECT count(*) FROM (SELECT (bson_file('$files/large.bson.gz')).*) f;\nSELECT $before b \\gset\nSELECT :b - :a < 20000", $chunks * 1000 . "\nt", 'memory is flat over 200 MB');
		answers("CREATE UNLOGGED TABLE many (doc jsonb);\nSELECT load_bson('many', 'doc', '$files/good.bson');\nSELECT $before a \\gset\nSELECT load_bson('many', 'doc', '$files/large.bson.gz');\nSELECT $before b \\gset\nSELECT :b - :a < 60000; DROP TABLE many", "3\n" . $chunks * 1000 . "\nt", 'and in loading');
	}
	$node->safe_psql('postgres', 'CREATE TABLE IF NOT EXISTS many (doc jsonb)');
	# zeros, which no document begins with, behind one that takes them all
	$z = IO::Compress::Gzip->new("$files/zeros.bson.gz", Level => 1) or die $GzipError;
	$z->print(pack('V', 200_000_000) . "\x05b\0" . pack('V', 199_999_987) . "\0");
	$z->print("\0" x 1_000_000) for 1 .. 200;
	$z->close;
	foreach my $query ("SELECT count(*) FROM (SELECT bson_file('$files/large.bson.gz')) f", "SELECT load_bson('many', 'doc', '$files/large.bson.gz')",
		"SELECT count(*) FROM bson_file('$files/large.bson.gz', on_error => 'report')", "SELECT count(*) FROM generate_series(1, 300), LATERAL (SELECT bson_file('$files/zeros.bson.gz', on_error => 'report')) f")
	{
		my $start = time;
		my ($status, $output, $complaint) = $node->psql('postgres', "\\set VERBOSITY sqlstate\nSET statement_timeout = 150;\n$query");

		like($complaint, qr/57014/, "cancelled: $query");
		# the last one takes minutes if it is let
		cmp_ok(time - $start, '<', 20, 'at once');
	}
	answers('SELECT count(*) FROM many', 0, 'nothing is left of a load that was cancelled');
}

# Other encodings
$node->safe_psql('postgres', "CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0; CREATE DATABASE bytes ENCODING 'SQL_ASCII' LOCALE 'C' TEMPLATE template0");
$node->safe_psql($_, 'CREATE EXTENSION pattern') foreach 'latin', 'bytes';
write_file('text.bson', doc(string("\xc3\xa9", "\xc3\xa9")) . doc(string("\xc3\xa9", "\xe2\x98\x86")) . doc(string('a', "x\0y")));
is($node->safe_psql('latin', "SET client_encoding = 'UTF8'; SELECT doc, error FROM bson_file('$files/text.bson', on_error => 'report', on_nul => 'strip')"),
	"{\"\xc3\xa9\": \"\xc3\xa9\"}|\n|encoding \"LATIN1\" lacks a character of the string in document 2 at \"\\xc3\\xa9\", byte 28\n{\"a\": \"xy\"}|", 'LATIN1: what it has, and what it lacks');
is($node->safe_psql('latin', "SELECT octet_length(doc->>'e9') IS NULL, length(k), jsonb_to_bson(doc) FROM (SELECT (bson_file('$files/text.bson')).doc LIMIT 1) f, jsonb_object_keys(doc) k"),
	't|1|\x' . unpack('H*', doc(string("\xc3\xa9", "\xc3\xa9"))), 'LATIN1: back in UTF-8');
like(($node->psql('latin', "SELECT bson_file('$files/text.bson', on_nul => 'replace') OFFSET 2"))[2], qr/ERROR:  encoding "LATIN1" lacks a character/, 'LATIN1: no replacement character');
is($node->safe_psql('bytes', "SELECT jsonb_to_bson(doc) FROM (SELECT (bson_file('$files/text.bson', on_nul => 'strip')).doc OFFSET 1 LIMIT 1) f"),
	'\x' . unpack('H*', doc(string("\xc3\xa9", "\xe2\x98\x86"))), 'SQL_ASCII: the bytes, which are UTF-8');
like(($node->psql('bytes', q{\set VERBOSITY sqlstate
	SELECT jsonb_to_bson(jsonb_build_object('a', E'\xff'))}))[2], qr/ERROR:  22021/, 'SQL_ASCII: bytes that are not');

# No memory: an error, and the session goes on
SKIP:
{
	skip 'no prlimit', 1 unless system('prlimit --version > /dev/null 2>&1') == 0;
	my $limit = "\\getenv path PATH\n\\setenv PID :pid\n\\! prlimit --pid \$PID --as=\$(( \$(awk '/VmSize/ { print \$2 }' /proc/\$PID/status) * 1024 + 120000000 ))";
	my ($status, $output, $complaint) = $node->psql('postgres', qq{
		\\set VERBOSITY sqlstate
		CREATE TEMP TABLE long AS SELECT jsonb_build_object('a', jsonb_agg(repeat('x', 1000000))) AS doc FROM generate_series(1, 50);
		ALTER TABLE long ALTER doc SET STORAGE EXTERNAL;
		SELECT pg_backend_pid() AS pid \\gset
		$limit
		SELECT length(jsonb_to_bson(doc)) FROM long;
		SELECT bson_size('{"a": 1}')}, on_error_stop => 0);
	is("$output $complaint", '12 ' . ($complaint =~ /(.*53200)$/ ? $1 : 'ERROR:  53200'), 'no memory for libbson is an error');
}

$node->stop;

# Another library in the process, with all of libbson's names
my $library = $node->config_data('--pkglibdir') . '/pattern.so';
my @names = map { / [tT] (bson_\w+)$/ ? $1 : () } split /\n/, `nm $library`;
cmp_ok(scalar(@names), '>', 50, 'there are names of libbson');
write_file('other.c', "#include <stdlib.h>\n" . join('', map { "void $_(void); void $_(void) { abort(); }\n" } @names));
system_or_bail('gcc', '-shared', '-fPIC', '-o', "$files/other.so", "$files/other.c");
{
	local $ENV{LD_PRELOAD} = "$files/other.so";

	$node->start;
}
answers("SELECT count(*), max(bson_objectid_time(bson_objectid())) > now() - interval '1 minute', max(bson_size(doc)) FROM bson_file('$files/good.bson')", '3|t|300013', 'beside another library with the same names');
unlike(slurp_file($node->logfile), qr/PANIC|TRAP|terminated by signal/, 'the server lived all the time');

$node->stop;
done_testing();
