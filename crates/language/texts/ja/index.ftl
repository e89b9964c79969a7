index-the-name-of-a =
    { $kind ->
        [tag] タグの名前は1～{ $max_name }文字で、改行は使えません。
        [board] ボードの名前は1～{ $max_name }文字で、改行は使えません。
       *[other] { $kind }の名前は1～{ $max_name }文字で、改行は使えません。
    }
index-the-index-of-your = 画像の索引が破損していたため、作り直しています。古いファイルは{ $aside }として残ります。待機中のジョブはキューに残っています。
index-its-disk-is-full = ディスクがいっぱいか、書き込み禁止か、切断されています（{ $error }）
index-its-disk-is-write = ディスクが書き込み禁止です
index-its-disk-is-full-2 = ディスクがいっぱいです
index-has-characters-that-cannot = { $path }に保存できない文字があります。名前を変えてください
index-is-damaged-and-another = { $path }は破損しており、別のAtelierが開いています。それを閉じてから、もう一度お試しください
index-was-written-by-a = { $path }はより新しいバージョンのAtelierで書かれているため、そのまま残します。使うにはこのAtelierを更新してください
index-could-not-be-used = { $path }を使えませんでした：{ $source }
index-the-index-of-your-pictures-could = 画像の索引を使えませんでした：{ $reason }
index-a-named-already-exists =
    { $kind ->
        [board] ボード「{ $name }」はすでに存在します。別の名前を選んでください。
       *[other] { $kind }「{ $name }」はすでに存在します。別の名前を選んでください。
    }
index-there-is-no-board = ボード「{ $name }」は存在しません。先に作成してください。
index-this-note-is-too = このメモは長すぎます。{ $max_note }文字以内に縮めてください。
index-is-not-a-rating = { $rating }は評価ではありません。評価は0（なし）から{ $best_rating }までです。
index-the-name-of-the = ファイル名がUnicodeではありません
index-could-not-be-rebuilt = { $path }を作り直せませんでした。削除してください。
index-the-picture-could-not = 画像を元に戻せませんでした：{ $error }。
index-the-picture-is-no = 画像はもうごみ箱にありません。
index-the-trash-could-not = ごみ箱を読み取れませんでした：{ $error }。
index-every-name-in-its = フォルダー.trashに使える名前が残っていません
index-another-file-with-this = 同じ名前の別のファイルがあります。先にそのファイルの名前を変えてください。
index-the-file-was-not = ファイルを移動できませんでした：{ $why }、{ $error }。
index-is-not-a-time = 「{ $value }」は日時ではありません。12h、7d、2w、3m、1y、today、yesterday、2026-11-20のように書いてください。
index-is-not-a-number = 「{ $value }」は数ではありません。数を1つ、または1.5..4のように..でつないで2つ書いてください。
index-is-not-a-whole = 「{ $value }」は整数ではありません。整数を1つ、または1..9のように..でつないで2つ書いてください。
index-there-is-nothing-between = 引用符の間が空です。語を書いてください。
index-is-not-a-value = 「{ $value }」はこのフィールドの値ではありません。次のどれかを書いてください：{ $value_2 }。
index-has-no-letters-or = 「{ $name }」には文字も数字もありません。名前の一部を書いてください。
index-this-field-cannot-be = このフィールドは<や>で比較できません。「{ $value }」の前にコロン（:）を書いてください。
index-needs-a-value-as = 「{ $name }」には値が必要です。例：{ $example }。
index-is-not-a-search = 「{ $name }」は検索フィールドではありません。この文字列を検索するには、引用符（"）で囲んでください。
index-a-search-has-at = 検索は最大{ $max_terms }項目、{ $max_bytes }文字までです。短くしてください。
index-this-folder-is-not = このフォルダーはギャラリーにありません。先にフォルダーを追加してください。
index-field-model = このモデルで作成（名前、ファイル、ハッシュ）
index-field-lora = このLoRAで作成（名前、ハッシュ）
index-field-seed = このシード、または2つの間のシード
index-field-rating = 評価0～5
index-field-flag = 採用、却下、どちらでもない：pick、reject、none
index-field-tag = このタグ付き。tag:port*はportで始まるすべてのタグ
index-field-board = このボード上
index-field-owner = ネットワーク経由でこの人のために作成（名前）
index-field-since = これ以降に作成：12h、7d、2w、3m、1y、today、yesterday、2026-11-20
index-field-before = これより前に作成
index-field-on = この日、月、または年に作成
index-field-prompt = プロンプトにこの語を含む
index-field-negative = ネガティブプロンプトにこの語を含む
index-field-note = メモにこの語を含む
index-field-name = ファイル名にこの語を含む
index-field-folder = パスにこれを含むフォルダー内
index-field-tool = このプログラムで作成
index-field-sampler = このサンプラーで作成
index-field-scheduler = このスケジューラーで作成
index-field-steps = ステップ数
index-field-guidance = ガイダンス（CFGスケール）
index-field-width = 幅（ピクセル）
index-field-height = 高さ（ピクセル）
index-field-size = 正確なサイズ（ピクセル）
index-field-shape = portrait（縦長）、landscape（横長）、square（正方形）
index-field-is = here（あり）、missing（なし）、trashed（ゴミ箱内）、damaged（破損）。kept、candidate、import
index-field-has = note、tag、board、lora、recipe、parent、ownerのいずれか付き
index-field-batch = この番号のジョブの画像
index-is-not-a-date = 「{ $value }」は日付ではありません。2026-11-20や2026-11のように、日、月、または年を書いてください。
index-is-not-a-size = 「{ $value }」はサイズではありません。1024x1536のように、幅x高さを書いてください。
index-atelier-crashed-twice = 生成中にAtelierが2回クラッシュしました。再開するまで待機します。
