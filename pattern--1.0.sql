/* pattern--1.0.sql */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION pattern" to load this file. \quit

--
-- 1. Documents: MongoDB's update language
--

--
-- 1. Documents: MongoDB's query language
--

--
-- 2. Attribute pattern
--

--
-- 3. Bucket pattern
--

--
-- 4. Subset pattern
--

--
-- 9. BSON
--
