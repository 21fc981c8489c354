/*
 * server/trigger.c
 *		What the triggers of all patterns have in common.
 *
 * A trigger names the relations that it needs besides its own in its WHEN
 * clause: WHEN (pattern_target('ratings'::regclass, 'movies'::regclass)).  There
 * PostgreSQL records them as dependencies: they may be renamed and moved to
 * another schema, dropping one is refused or takes the trigger along, and a
 * dump brings them back in order and by their names of that day.  An OID or a
 * name in an argument of the trigger would do none of that.
 *
 * What a trigger writes, it writes as the owner of the relation written to, as
 * foreign keys do, so that a role needs no right but that on the table it
 * writes to itself.  Since anyone may create a trigger on a table of his own,
 * the owner of that table must hold the role that owns the target.
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "commands/defrem.h"
#include "commands/trigger.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "pattern.h"

PG_FUNCTION_INFO_V1(pattern_target);

/* pattern_target(VARIADIC relations regclass[]) → boolean: true; what counts is that it is called with them */
Datum
pattern_target(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(true);
}

/* 39P01 unless the function was called as a trigger; returns what it was called with. */
TriggerData *
trigger_data(FunctionCallInfo fcinfo)
{
	if (!CALLED_AS_TRIGGER(fcinfo))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("function \"%s\" was not called by trigger manager",
						get_func_name(fcinfo->flinfo->fn_oid))));
	return (TriggerData *) fcinfo->context;
}

/* Is it a call of pattern_target? */
static bool
is_target_call(const Node *node)
{
	return IsA(node, FuncExpr) && ((const FuncExpr *) node)->funcvariadic &&
		function_is(((const FuncExpr *) node)->funcid, "pattern_target");
}

/* Collect the relations in calls of pattern_target; an expression_tree_walker. */
static bool
collect_targets(Node *node, void *context)
{
	List	  **targets = context;
	Node	   *relations;
	ListCell   *cell;

	if (node == NULL)
		return false;
	if (!is_target_call(node))
		return expression_tree_walker(node, collect_targets, context);
	relations = linitial(((FuncExpr *) node)->args);
	if (!IsA(relations, ArrayExpr))
		return false;
	foreach(cell, ((ArrayExpr *) relations)->elements)
	{
		Const	   *relation = lfirst(cell);

		if (IsA(relation, Const) && !relation->constisnull)
			*targets = lappend_oid(*targets, DatumGetObjectId(relation->constvalue));
	}
	return false;
}

/*
 * The relations that a trigger names in its WHEN clause, in their order.  55000
 * if they are not ntargets: somebody altered the trigger.
 */
List *
trigger_targets(const Trigger *trigger, int ntargets)
{
	List	   *targets = NIL;

	if (trigger->tgqual != NULL)
		(void) collect_targets(stringToNode(trigger->tgqual), &targets);
	if (list_length(targets) != ntargets)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("trigger \"%s\" does not name the relations that it needs", trigger->tgname),
				 errdetail("Its WHEN clause must call pattern_target() with %d relations.", ntargets),
				 errhint("Drop what the trigger belongs to, and create it anew.")));
	return targets;
}

/* The call of pattern_target for a WHEN clause; schema is the extension's.  palloc'd. */
char *
trigger_target_call(const char *schema, const List *targets)
{
	StringInfoData buf;
	const ListCell *cell;

	initStringInfo(&buf);
	appendStringInfo(&buf, "%s(", quote_qualified_identifier(schema, "pattern_target"));
	foreach(cell, targets)
		appendStringInfo(&buf, "%s%s::pg_catalog.regclass", cell == list_head(targets) ? "" : ", ",
						 quote_literal_cstr(relation_quoted_name(lfirst_oid(cell))));
	appendStringInfoChar(&buf, ')');
	return buf.data;
}

/* A name for a trigger, made as that of a constraint, that the relation has none of yet; palloc'd. */
char *
trigger_choose_name(Oid relid, const char *first, const char *second, const char *label)
{
	char	   *name = makeObjectName(first, second, label);

	for (int i = 1; OidIsValid(get_trigger_oid(relid, name, true)); i++)
		name = makeObjectName(first, second, psprintf("%s_%d", label, i));
	return name;
}

/*
 * 42501 unless the owner of a relation with a trigger of ours may do what the
 * owner of its target may.  To be called when a pattern is created, and when a
 * trigger first looks at its target after either may have changed.
 */
void
relation_check_trusted(Oid relid, Oid target)
{
	if (!has_privs_of_role(relation_owner(relid), relation_owner(target)))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("the owner of relation \"%s\" may not write to relation \"%s\"",
						get_rel_name(relid), get_rel_name(target)),
				 errhint("Let one role own both.")));
}

/*
 * Go on with the rights of an owner, as foreign keys do: row security does not
 * hide rows from him.  An error that ends the (sub)transaction takes it back;
 * so must the caller, by owner_leave, on every other way.
 */
void
owner_enter(Oid owner, OwnerSwitch *before)
{
	GetUserIdAndSecContext(&before->userid, &before->context);
	SetUserIdAndSecContext(owner, before->context | SECURITY_LOCAL_USERID_CHANGE | SECURITY_NOFORCE_RLS);
}

void
owner_leave(const OwnerSwitch *before)
{
	SetUserIdAndSecContext(before->userid, before->context);
}
