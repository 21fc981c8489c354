# Outliers under concurrency, through a crash, and through a dump: each session
# notes in a table of its own what it pushed and replaced, in the same transaction.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $transactions = $ENV{OUTLIER_TRANSACTIONS} || 3000;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(allows_streaming => 'logical', extra => [ '--encoding', 'UTF8', '--locale', 'C' ]);
$node->append_conf('postgresql.conf', "fsync = off\nsynchronous_commit = off");
$node->start;
$node->safe_psql('postgres', q{
	CREATE SCHEMA ext;
	CREATE EXTENSION pattern SCHEMA ext;
	CREATE TABLE posts (id int PRIMARY KEY, doc jsonb NOT NULL);
	SELECT ext.create_outlier('posts', 'doc', '{followers}', 5);
	INSERT INTO posts SELECT p, '{"followers": []}' FROM generate_series(1, 20) p;
	-- the number is taken while the post is locked
	CREATE TABLE note (post int NOT NULL, number bigint GENERATED ALWAYS AS IDENTITY, element jsonb NOT NULL);
	CREATE INDEX ON note(post);
	CREATE PROCEDURE change(p int, what int, element jsonb) LANGUAGE plpgsql AS $$
	BEGIN
		IF what < 70 THEN
			PERFORM ext.outlier_push('posts', p, element);
			INSERT INTO note(post, element) VALUES (p, element);
		ELSIF what < 80 THEN
			UPDATE posts SET doc = ext.doc_update(doc, jsonb_build_object('$push', jsonb_build_object('followers', jsonb_build_object('$each', jsonb_build_array(element, element))))) WHERE id = p;
			-- with the flag, what is pushed into a head with room stands before the overflow
			DELETE FROM note WHERE post = p;
			INSERT INTO note(post, element) SELECT p, e FROM ext.outlier_elements('posts', p) WITH ORDINALITY x(e, o) ORDER BY o;
		ELSIF what < 90 THEN
			UPDATE posts SET doc = jsonb_build_object('followers', (SELECT jsonb_agg(i) FROM generate_series(1, what - 78) i)) WHERE id = p;
			DELETE FROM note WHERE post = p;
			INSERT INTO note(post, element) SELECT p, to_jsonb(i) FROM generate_series(1, what - 78) i;
		ELSIF what < 95 THEN
			DELETE FROM posts WHERE id = p;
			DELETE FROM note WHERE post = p;
			INSERT INTO posts VALUES (p, '{}');
		ELSE
			-- what is rolled back leaves nothing
			BEGIN
				PERFORM ext.outlier_push('posts', p, '"never"');
				RAISE division_by_zero;
			EXCEPTION WHEN division_by_zero THEN NULL;
			END;
		END IF;
	END $$;
});
my $wrong = q{
	SELECT p.id FROM posts p
	WHERE jsonb_array_length(doc->'followers') > 5
		OR (doc->>'has_extras' = 'true') IS DISTINCT FROM NULLIF(EXISTS (SELECT FROM posts_followers o WHERE o.key = p.id), false)
		OR (SELECT jsonb_agg(e) FROM ext.outlier_elements('posts', p.id) e) IS DISTINCT FROM (SELECT jsonb_agg(element ORDER BY number) FROM note WHERE post = p.id)};
my $seen = 'SELECT count(*) > 0 FROM posts_followers';

my $script = $node->basedir . '/change.sql';
PostgreSQL::Test::Utils::append_to_file($script, q{\set p random(1, 20)
\set what random(0, 99)
\set n random(1, 1000000)
BEGIN;
-- who waits for a row that is deleted and inserted again would not have the new one locked
SELECT pg_advisory_xact_lock(:p);
CALL change(:p, :what, to_jsonb(:n));
COMMIT;
});
$node->command_ok([ 'pgbench', '--no-vacuum', '--client=2', "--transactions=$transactions", "--file=$script", 'postgres' ], 'two clients');
is($node->safe_psql('postgres', $wrong), '', 'everything is where it belongs');
is($node->safe_psql('postgres', $seen), 't', 'and there are outliers');

# The server dies while they write.
my ($out, $err) = ('', '');
my $bench = IPC::Run::start([ 'pgbench', '--no-vacuum', '--client=2', '--time=60', "--file=$script", '-h', $node->host, '-p', $node->port, 'postgres' ], '>', \$out, '2>', \$err);
$node->poll_query_until('postgres', q{SELECT sum(xact_commit) > } . $node->safe_psql('postgres', 'SELECT sum(xact_commit) + 500 FROM pg_stat_database') . q{ FROM pg_stat_database});
$node->stop('immediate');
IPC::Run::finish($bench);
$node->start;
is($node->safe_psql('postgres', $wrong), '', 'after a crash, too');
is($node->safe_psql('postgres', $seen), 't', 'with outliers');

# From a dump come the same documents and the same rules.
my $dump = $node->basedir . '/outlier.dump';
$node->safe_psql('postgres', 'CREATE DATABASE copy');
$node->command_ok([ 'pg_dump', '--format=custom', '--file', $dump, 'postgres' ], 'dump');
$node->command_ok([ 'pg_restore', '--exit-on-error', '--dbname=copy', $dump ], 'restore');
is($node->safe_psql('copy', $wrong), '', 'everything is where it belongs in the copy');
my $all = q{SELECT md5(string_agg(t::text, ' ' ORDER BY t::text)) FROM (SELECT p::text FROM posts p UNION ALL SELECT f::text FROM posts_followers f) t};
is($node->safe_psql('copy', $all), $node->safe_psql('postgres', $all), 'the same rows');
$node->safe_psql('copy', q{DO $$ BEGIN FOR i IN 1..200 LOOP CALL change(1 + i % 20, i % 95, to_jsonb(i)); END LOOP; END $$});
is($node->safe_psql('copy', $wrong), '', 'and it stays so');

# A subscriber gets both tables as they are, and moves nothing again. When it takes over, its sequence must be set.
my $subscriber = PostgreSQL::Test::Cluster->new('subscriber');
$subscriber->init(extra => [ '--encoding', 'UTF8', '--locale', 'C' ]);
$subscriber->append_conf('postgresql.conf', 'fsync = off');
$subscriber->start;
$subscriber->safe_psql('postgres', q{
	CREATE SCHEMA ext;
	CREATE EXTENSION pattern SCHEMA ext;
	CREATE TABLE posts (id int PRIMARY KEY, doc jsonb NOT NULL);
	SELECT ext.create_outlier('posts', 'doc', '{followers}', 5);
});
$node->safe_psql('postgres', 'CREATE PUBLICATION posts FOR TABLE posts, posts_followers');
$subscriber->safe_psql('postgres', q{CREATE SUBSCRIPTION posts CONNECTION $c$} . $node->connstr('postgres') . q{$c$ PUBLICATION posts});
$subscriber->wait_for_subscription_sync($node, 'posts');
$node->safe_psql('postgres', q{DO $$ BEGIN FOR i IN 1..200 LOOP CALL change(1 + i % 20, i % 95, to_jsonb(i)); END LOOP; END $$});
$node->safe_psql('postgres', 'UPDATE posts SET id = 21 WHERE id = 1; UPDATE note SET post = 21 WHERE post = 1');
$node->wait_for_catchup('posts');
is($subscriber->safe_psql('postgres', $all), $node->safe_psql('postgres', $all), 'the same rows at a subscriber');
$subscriber->safe_psql('postgres', q{
	DROP SUBSCRIPTION posts;
	SELECT setval(pg_get_serial_sequence('posts_followers', 'number'), max(number)) FROM posts_followers;
	SELECT ext.outlier_push('posts', key, '"last"') FROM posts_followers GROUP BY key});
is($subscriber->safe_psql('postgres', q{SELECT DISTINCT (SELECT element FROM posts_followers o WHERE o.key = f.key ORDER BY number DESC LIMIT 1) FROM posts_followers f}), '"last"', 'which goes on where the other stopped');

$subscriber->stop;
$node->stop;
done_testing();
