/*
 * server/operand.c
 *		Operands that are parsed once a statement, not once a row.
 *
 * fn_extra keeps the compiled operand beside a copy of the bytes that it was
 * compiled from, and is used again while the bytes are the same.  Only a Const
 * saves the comparison: get_fn_expr_arg_stable is also true of a PL/pgSQL
 * variable, and a pointer is the same for another value after its memory was
 * freed.
 */
#include "postgres.h"

#include "nodes/primnodes.h"
#include "utils/memutils.h"

#include "pattern.h"

#define MAX_OPERANDS 2

typedef struct OperandCache
{
	MemoryContext context;		/* holds the copies and what was compiled */
	bool		constant;		/* all operands are constants */
	void	   *compiled;		/* NULL: nothing yet */
	Jsonb	   *copies[MAX_OPERANDS];	/* NULL for SQL NULL */
} OperandCache;

/* Are these arguments of the call constants? */
static bool
args_are_constant(FunctionCallInfo fcinfo, const int *args, int nargs)
{
	Node	   *call = fcinfo->flinfo->fn_expr;
	List	   *list;

	if (call != NULL && IsA(call, FuncExpr))
		list = ((FuncExpr *) call)->args;
	else if (call != NULL && IsA(call, OpExpr))
		list = ((OpExpr *) call)->args;
	else
		return false;
	for (int i = 0; i < nargs; i++)
		if (args[i] >= list_length(list) || !IsA(list_nth(list, args[i]), Const))
			return false;
	return true;
}

static OperandCache *
cache_create(FunctionCallInfo fcinfo, const int *args, int nargs)
{
	MemoryContext parent = fcinfo->flinfo->fn_mcxt;
	OperandCache *cache = MemoryContextAllocZero(parent, sizeof(OperandCache));

	cache->context = AllocSetContextCreate(parent, "pattern operand", ALLOCSET_SMALL_SIZES);
	cache->constant = args_are_constant(fcinfo, args, nargs);
	fcinfo->flinfo->fn_extra = cache;
	return cache;
}

static bool
same_operand(const Jsonb *a, const Jsonb *b)
{
	if (a == NULL || b == NULL)
		return a == b;
	return VARSIZE(a) == VARSIZE(b) && memcmp(a, b, VARSIZE(a)) == 0;
}

/*
 * What compile makes of the jsonb (or other varlena) arguments at the positions args, at most
 * MAX_OPERANDS of them; compile is given NULL for an SQL NULL.  The result
 * lives in the function's own memory context until the operands change.
 */
void *
operand_compiled(FunctionCallInfo fcinfo, const int *args, int nargs, OperandCompile compile)
{
	OperandCache *cache = fcinfo->flinfo->fn_extra;
	Jsonb	   *operands[MAX_OPERANDS];
	MemoryContext caller;
	bool		same = true;

	Assert(nargs <= MAX_OPERANDS);
	if (cache == NULL)
		cache = cache_create(fcinfo, args, nargs);
	if (cache->compiled != NULL && cache->constant)
		return cache->compiled;

	for (int i = 0; i < nargs; i++)
	{
		operands[i] = PG_ARGISNULL(args[i]) ? NULL : PG_GETARG_JSONB_P(args[i]);
		same = same && same_operand(operands[i], cache->copies[i]);
	}
	if (cache->compiled != NULL && same)
		return cache->compiled;

	/* in case of an error */
	cache->compiled = NULL;
	memset(cache->copies, 0, sizeof(cache->copies));
	MemoryContextReset(cache->context);
	caller = MemoryContextSwitchTo(cache->context);
	for (int i = 0; i < nargs; i++)
	{
		if (operands[i] != NULL)
		{
			cache->copies[i] = palloc(VARSIZE(operands[i]));
			memcpy(cache->copies[i], operands[i], VARSIZE(operands[i]));
		}
	}
	cache->compiled = compile(cache->copies);
	MemoryContextSwitchTo(caller);
	return cache->compiled;
}
