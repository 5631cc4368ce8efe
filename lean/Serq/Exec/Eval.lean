import Serq.IR
import Serq.Exec.Arr
/-!
# Expressions

An expression is read at a *moment*, which supplies the attributes of a session, the context
variables and the queries of pools and stages: an `Env`. Amounts, guards, counts and claims are
natural numbers, so a difference that would be negative is 0; a *key*, which only orders things, is an
integer, so that `-admission` or `position - prompt` order as they should.
-/

namespace Serq

/-- What an evaluation moment supplies. What it does not supply reads 0. -/
structure Env where
  attrs : Array Nat := #[]
  ctx : Ctx → Nat := fun _ => 0
  pool : Fun → Nat → Nat := fun _ _ => 0
  stage : Fun → Nat → Nat := fun _ _ => 0

/-- 1 for true, 0 for false. -/
@[inline] def bit (p : Prop) [Decidable p] : Nat := if p then 1 else 0

/-- A function of two numbers; `Floor` and `Ceil` are those of the quotient. -/
@[inline] def Fun.apply : Fun → Nat → Nat → Nat
  | .Min, a, b => if a ≤ b then a else b
  | .Max, a, b => if a ≤ b then b else a
  | .Floor, a, b => a / b
  | .Ceil, a, b => (a + (b - 1)) / b
  | _, _, _ => 0

/-- A unary operation on naturals. -/
@[inline] def UnaryOp.apply : UnaryOp → Nat → Nat
  | .Neg, a => 0 - a
  | .Not, a => bit (a = 0)

/-- A binary operation on naturals; a truth value is 1 or 0. -/
@[inline] def BinaryOp.apply : BinaryOp → Nat → Nat → Nat
  | .Add, a, b => a + b
  | .Sub, a, b => a - b
  | .Mul, a, b => a * b
  | .Lt, a, b => bit (a < b)
  | .Le, a, b => bit (a ≤ b)
  | .Gt, a, b => bit (b < a)
  | .Ge, a, b => bit (b ≤ a)
  | .Eq, a, b => bit (a = b)
  | .Ne, a, b => bit (a ≠ b)
  | .And, a, b => bit (a ≠ 0 ∧ b ≠ 0)
  | .Or, a, b => bit (a ≠ 0 ∨ b ≠ 0)

/-- The value of an expression at a moment. -/
def Expr.eval (env : Env) : Expr → Nat
  | .Num v => v
  | .Attr s => Arr.at! env.attrs s
  | .CtxVar c => env.ctx c
  | .Call f a b => f.apply (a.eval env) (b.eval env)
  | .PoolCall f base _ ix => env.pool f (base + ix.eval env)
  | .StageCall f base _ ix => env.stage f (base + ix.eval env)
  | .Unary op a => op.apply (a.eval env)
  | .Binary op a b => op.apply (a.eval env) (b.eval env)
  | .Cond c a b => if c.eval env = 0 then b.eval env else a.eval env

/-- 1 for true, 0 for false, as an integer. -/
def ibit (p : Prop) [Decidable p] : Int := if p then 1 else 0

/-- A function of two integers, in a key. -/
def Fun.applyKey : Fun → Int → Int → Int
  | .Min, a, b => if a ≤ b then a else b
  | .Max, a, b => if a ≤ b then b else a
  | .Floor, a, b => a / b
  | .Ceil, a, b => -((-a) / b)
  | _, _, _ => 0

/-- A unary operation on integers, in a key. -/
def UnaryOp.applyKey : UnaryOp → Int → Int
  | .Neg, a => -a
  | .Not, a => ibit (a = 0)

/-- A binary operation on integers, in a key. -/
def BinaryOp.applyKey : BinaryOp → Int → Int → Int
  | .Add, a, b => a + b
  | .Sub, a, b => a - b
  | .Mul, a, b => a * b
  | .Lt, a, b => ibit (a < b)
  | .Le, a, b => ibit (a ≤ b)
  | .Gt, a, b => ibit (b < a)
  | .Ge, a, b => ibit (b ≤ a)
  | .Eq, a, b => ibit (a = b)
  | .Ne, a, b => ibit (a ≠ b)
  | .And, a, b => ibit (a ≠ 0 ∧ b ≠ 0)
  | .Or, a, b => ibit (a ≠ 0 ∨ b ≠ 0)

/-- The value of an expression as a key: an integer. -/
def Expr.key (env : Env) : Expr → Int
  | .Num v => (v : Nat)
  | .Attr s => (Arr.at! env.attrs s : Nat)
  | .CtxVar c => (env.ctx c : Nat)
  | .Call f a b => f.applyKey (a.key env) (b.key env)
  | .PoolCall f base _ ix => (env.pool f (base + ix.eval env) : Nat)
  | .StageCall f base _ ix => (env.stage f (base + ix.eval env) : Nat)
  | .Unary op a => op.applyKey (a.key env)
  | .Binary op a b => op.applyKey (a.key env) (b.key env)
  | .Cond c a b => if c.key env = 0 then b.key env else a.key env

/-- The keys of an item, in order of importance. -/
def keysOf (env : Env) : List Expr → List Int
  | [] => []
  | e :: es => e.key env :: keysOf env es

/-- Lexicographic order of keys: `a` before `b`. -/
def keysLt : List Int → List Int → Bool
  | a :: as, b :: bs => if a < b then true else if a = b then keysLt as bs else false
  | _, _ => false

/-- Whether an expression reads only attributes and numbers, so that its value does not depend on
the state of the deployment. -/
def Expr.static : Expr → Bool
  | .Num _ => true
  | .Attr _ => true
  | .CtxVar _ => false
  | .Call _ a b => a.static && b.static
  | .PoolCall .. => false
  | .StageCall .. => false
  | .Unary _ a => a.static
  | .Binary _ a b => a.static && b.static
  | .Cond c a b => c.static && a.static && b.static

/-- The pool or stage that a reference names. -/
@[inline] def Ref.eval (env : Env) (r : Ref) : Nat := r.base + r.index.eval env

/-- An optional expression, `d` when it is missing. -/
@[inline] def evalOr (env : Env) (d : Nat) : Option Expr → Nat
  | none => d
  | some e => e.eval env

end Serq
