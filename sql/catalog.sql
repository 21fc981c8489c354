--
-- The whole surface of the extension in one place: what changes here, changes for users.
--
SELECT p.oid::regprocedure::text AS function, pg_get_function_result(p.oid) AS result,
       CASE p.prokind WHEN 'a' THEN 'aggregate' WHEN 'f' THEN 'function' END AS kind,
       CASE p.provolatile WHEN 'i' THEN 'immutable' WHEN 's' THEN 'stable' ELSE 'volatile' END AS volatility,
       CASE WHEN p.proisstrict THEN 'strict' ELSE '' END AS strict,
       CASE p.proparallel WHEN 's' THEN 'safe' WHEN 'r' THEN 'restricted' ELSE 'unsafe' END AS parallel
FROM pg_proc p JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid AND e.extname = 'pattern'
ORDER BY 1 COLLATE "C";

-- names and defaults of the arguments
SELECT p.proname, pg_get_function_arguments(p.oid) AS arguments
FROM pg_proc p JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid AND e.extname = 'pattern'
ORDER BY p.proname COLLATE "C", 2 COLLATE "C";

SELECT o.oid::regoperator::text AS operator, o.oprcode::text AS function, o.oprrest::text AS restriction, o.oprjoin::text AS "join"
FROM pg_operator o JOIN pg_depend d ON d.classid = 'pg_operator'::regclass AND d.objid = o.oid AND d.deptype = 'e'
JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid AND e.extname = 'pattern'
ORDER BY 1 COLLATE "C";

-- objects of other kinds
SELECT d.classid::regclass AS catalog, count(*)
FROM pg_depend d JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid AND e.extname = 'pattern'
WHERE d.deptype = 'e' AND d.classid NOT IN ('pg_proc'::regclass, 'pg_operator'::regclass)
GROUP BY 1 ORDER BY 1;

-- what a user can call or see has a comment; the functions behind operators, aggregates and operator classes too
SELECT pg_describe_object(d.classid, d.objid, 0) AS without_comment
FROM pg_depend d JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid AND e.extname = 'pattern'
WHERE d.deptype = 'e' AND d.classid IN ('pg_proc'::regclass, 'pg_operator'::regclass, 'pg_type'::regclass, 'pg_opclass'::regclass, 'pg_class'::regclass)
  AND obj_description(d.objid, d.classid::regclass::name) IS NULL
  AND NOT (d.classid = 'pg_type'::regclass AND (SELECT typelem <> 0 FROM pg_type t WHERE t.oid = d.objid))
ORDER BY 1;

-- none is SECURITY DEFINER, and none has settings of its own
SELECT count(*) FILTER (WHERE p.prosecdef OR p.proconfig IS NOT NULL) AS privileged
FROM pg_proc p JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid AND e.extname = 'pattern';
