/*
 * patterns/attribute_choice.c
 *		Which ranges of a conjunction an index looks up.
 *
 * GIN collects all rows of a range before it joins them with anything else.
 * Where a rare value stands beside a wide range it is faster to join the value
 * with the range's name, which is one entry that is only skipped through, and to
 * look at the few documents that have both.  Where the value is frequent and the
 * range narrow it is not.  Statistics tell; without them all ranges are looked
 * up, as no range is so wide that this were a catastrophe.
 */
#include "postgres.h"

#include "attribute_index.h"

/*
 * What things take, one row of a range being one: collecting it and taking it
 * out again.  A row that is read through the bitmap and found not to match; one
 * that does match and would not have been looked at; and one that is skipped in
 * the entry of a name.  Measured with bench/attribute_index.sh, and then more for
 * reading than it takes in memory.
 */
#define COST_READ	9.0
#define COST_LOOK	6.0
#define COST_SKIP	0.02

/* A part of a conjunction. */
typedef struct Part
{
	AttributeNode *fine;
	AttributeNode *coarse;		/* NULL: it has no ranges, or they were judged */
	double		saved;			/* parts of all rows: in ranges that the coarse form does without */
	double		fine_rows;
	double		coarse_rows;
	double		rows;			/* as it was chosen */
} Part;

/* Does the node, or a part of it, have a coarse form? */
static bool
has_coarse(const AttributeNode *node)
{
	ListCell   *lc;

	if (node->coarse != NULL)
		return true;
	foreach(lc, node->nodes)
		if (has_coarse(lfirst(lc)))
			return true;
	return false;
}

/* Is there anything to choose? */
bool
attribute_choice_is_open(const AttributeNode *node)
{
	ListCell   *lc;

	foreach(lc, node->nodes)
		if ((node->type == ATTRIBUTE_AND && has_coarse(lfirst(lc))) ||
			attribute_choice_is_open(lfirst(lc)))
			return true;
	return false;
}

/* A copy of the node with all that have coarse forms in these. */
static AttributeNode *
make_coarse(const AttributeNode *node)
{
	AttributeNode *result;
	ListCell   *lc;

	if (node->coarse != NULL)
		return node->coarse;
	result = palloc(sizeof(AttributeNode));
	*result = *node;
	result->nodes = NIL;
	foreach(lc, node->nodes)
		result->nodes = lappend(result->nodes, make_coarse(lfirst(lc)));
	return result;
}

/* The part of the rows that the node's ranges collect. */
static double
collected_rows(AttributeStatistics *statistics, const AttributeNode *node)
{
	double		result = 0;
	ListCell   *lc;

	if (node->type == ATTRIBUTE_ENTRY)
		return node->entry->is_range ? attribute_entry_selectivity(statistics, node->entry) : 0;
	foreach(lc, node->nodes)
		result += collected_rows(statistics, lfirst(lc));
	return result;
}

static void
part_begin(Part *part, AttributeStatistics *statistics, AttributeNode *node)
{
	memset(part, 0, sizeof(Part));
	part->fine = node;
	part->fine_rows = part->rows = attribute_node_selectivity(statistics, node);
	if (!has_coarse(node))
		return;
	part->coarse = make_coarse(node);
	part->saved = collected_rows(statistics, node) - collected_rows(statistics, part->coarse);
	part->coarse_rows = attribute_node_selectivity(statistics, part->coarse);
}

/* The part that saves most of those which are not judged yet; NULL if all are. */
static Part *
widest_part(Part *parts, int n)
{
	Part	   *result = NULL;

	for (int i = 0; i < n; i++)
		if (parts[i].coarse != NULL &&
			(result == NULL || parts[i].saved > result->saved))
			result = &parts[i];
	return result;
}

/* Choose for each part of a conjunction, the widest ranges first. */
static void
choose_parts(AttributeStatistics *statistics, AttributeNode *node)
{
	int			n = list_length(node->nodes);
	Part	   *parts = palloc(n * sizeof(Part));
	double		matching = 1;
	Part	   *part;

	for (int i = 0; i < n; i++)
	{
		part_begin(&parts[i], statistics, list_nth(node->nodes, i));
		matching *= parts[i].fine_rows;
	}
	while ((part = widest_part(parts, n)) != NULL)
	{
		double		others = 1;

		for (int i = 0; i < n; i++)
			if (&parts[i] != part)
				others *= parts[i].rows;
		if (part->saved > COST_SKIP * part->coarse_rows + COST_LOOK * matching +
			COST_READ * others * (part->coarse_rows - part->fine_rows))
		{
			part->fine = part->coarse;
			part->rows = part->coarse_rows;
		}
		part->coarse = NULL;
	}
	for (int i = 0; i < n; i++)
		lfirst(list_nth_cell(node->nodes, i)) = parts[i].fine;
	pfree(parts);
}

/* Put coarse forms into a node's conjunctions where ranges are not worth it. */
void
attribute_choose_ranges(AttributeStatistics *statistics, AttributeNode *node)
{
	ListCell   *lc;

	if (node->type == ATTRIBUTE_AND)
		choose_parts(statistics, node);
	foreach(lc, node->nodes)
		attribute_choose_ranges(statistics, lfirst(lc));
}
