--
-- The whole surface of the extension in one place: what changes here, changes for users.
--
\pset format unaligned
CREATE TEMP VIEW member AS
SELECT classid, objid FROM pg_depend
WHERE deptype = 'e' AND refclassid = 'pg_extension'::regclass AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'pattern');

SELECT p.oid::regprocedure AS function, pg_get_function_result(p.oid) AS result,
       CASE p.prokind WHEN 'a' THEN 'aggregate' WHEN 'f' THEN 'function' END AS kind,
       CASE p.provolatile WHEN 'i' THEN 'immutable' WHEN 's' THEN 'stable' ELSE 'volatile' END AS volatility,
       CASE WHEN p.proisstrict THEN 'strict' ELSE '' END AS strict,
       CASE p.proparallel WHEN 's' THEN 'safe' WHEN 'r' THEN 'restricted' ELSE 'unsafe' END AS parallel
FROM pg_proc p JOIN member m ON m.classid = 'pg_proc'::regclass AND m.objid = p.oid
ORDER BY p.oid::regprocedure::text;

-- names and defaults of the arguments, and the comments
\x on
SELECT p.proname, pg_get_function_arguments(p.oid) AS arguments, obj_description(p.oid, 'pg_proc') AS comment
FROM pg_proc p JOIN member m ON m.classid = 'pg_proc'::regclass AND m.objid = p.oid
ORDER BY p.oid::regprocedure::text;
\x off

-- aggregates run in parallel
SELECT a.aggfnoid::regprocedure AS aggregate, a.aggcombinefn <> 0 AS combines, a.aggserialfn <> 0 AND a.aggdeserialfn <> 0 AS travels
FROM pg_aggregate a JOIN member m ON m.classid = 'pg_proc'::regclass AND m.objid = a.aggfnoid
ORDER BY a.aggfnoid::regprocedure::text;

SELECT o.oid::regoperator AS operator, o.oprcode AS function, o.oprrest AS restriction, o.oprjoin AS "join", obj_description(o.oid, 'pg_operator') AS comment
FROM pg_operator o JOIN member m ON m.classid = 'pg_operator'::regclass AND m.objid = o.oid
ORDER BY o.oid::regoperator::text;

-- objects of other kinds; the array types, and the type of a view's rows, are members since PostgreSQL 18
SELECT m.classid::regclass AS catalog, pg_describe_object(m.classid, m.objid, 0) AS object
FROM member m LEFT JOIN pg_type t ON m.classid = 'pg_type'::regclass AND m.objid = t.oid
WHERE m.classid NOT IN ('pg_proc'::regclass, 'pg_operator'::regclass) AND coalesce(t.typelem, 0) = 0 AND coalesce(t.typrelid, 0) = 0
ORDER BY m.classid::regclass::text, 2;

-- everything has a comment, but such types and the operator families that come by themselves
SELECT pg_describe_object(m.classid, m.objid, 0) AS without_comment
FROM member m LEFT JOIN pg_type t ON m.classid = 'pg_type'::regclass AND m.objid = t.oid
WHERE obj_description(m.objid, m.classid::regclass::name) IS NULL
  AND m.classid <> 'pg_opfamily'::regclass AND coalesce(t.typelem, 0) = 0 AND coalesce(t.typrelid, 0) = 0
ORDER BY 1;

-- no function runs with the rights of its owner or has settings of its own
SELECT count(*) AS functions, count(*) FILTER (WHERE p.prosecdef) AS security_definer, count(*) FILTER (WHERE p.proconfig IS NOT NULL) AS with_settings
FROM pg_proc p JOIN member m ON m.classid = 'pg_proc'::regclass AND m.objid = p.oid;
